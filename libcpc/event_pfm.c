/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event_pfm.c - events by the names of libpfm4.
 */
#include "cpc_impl.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialized; /* what pfm_initialize returned; set once */

static void initialize(void)
{
	initialized = pfm_initialize();
}

/* Looking for tracepoints makes this slow where debugfs is mounted: only when needed. */
static bool usable(void)
{
	pthread_once(&once, initialize);
	return initialized == PFM_SUCCESS;
}

static int encode(const char *name, int modes, struct cpci_term *term)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	int rc = pfm_get_os_event_encoding(name, modes, PFM_OS_PERF_EVENT, &arg);

	if (rc != PFM_SUCCESS)
		return rc;
	*term = (struct cpci_term){
		.type = attr.type,
		.precise_ip = attr.precise_ip,
		.exclude_user = attr.exclude_user,
		.exclude_kernel = attr.exclude_kernel,
		.exclude_hv = attr.exclude_hv,
		.exclude_host = attr.exclude_host,
		.exclude_guest = attr.exclude_guest,
		.config = attr.config,
		.config1 = attr.config1,
		.config2 = attr.config2,
	};
	return PFM_SUCCESS;
}

int cpci_event_pfm(const char *name, uint_t flags, struct cpci_event *event, struct cpci_diag *diag)
{
	int modes = 0, rc;

	/* A slash is in the names of others, which libpfm4 takes for bad ones of its own. */
	if (strchr(name, '/') != NULL || !usable())
		return 0;
	/* Modes in the name itself (":k") outrank these. */
	if ((flags & CPC_COUNT_USER) != 0)
		modes |= PFM_PLM3;
	if ((flags & CPC_COUNT_SYSTEM) != 0)
		modes |= PFM_PLM0;
	rc = encode(name, modes, &event->term[0]);
	if (rc == PFM_SUCCESS) {
		event->nterms = 1;
		return 1;
	}
	if (rc == PFM_ERR_NOTFOUND)
		return 0;
	if (rc == PFM_ERR_NOMEM)
		cpci_diag(diag, ENOMEM, 0, "%s", strerror(ENOMEM));
	else
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "bad event '%s': %s", name,
			  pfm_strerror(rc));
	return -1;
}

bool cpci_pfm_core(struct cpci_core_pmu *core)
{
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	if (!usable())
		return false;
	pfm_for_all_pmus(pmu) {
		info = (pfm_pmu_info_t){.size = sizeof(info)};
		if (pfm_get_pmu_info(pmu, &info) != PFM_SUCCESS || !info.is_present ||
		    info.type != PFM_PMU_TYPE_CORE)
			continue;
		core->name = info.name;
		core->desc = info.desc;
		core->ncounters = (uint_t)(info.num_cntrs + info.num_fixed_cntrs);
		return true;
	}
	return false;
}

/* The events of one PMU, by libpfm4's numbering. */
static void walk_pmu(pfm_pmu_t pmu, void *arg, void (*visit)(void *arg, const pfm_event_info_t *))
{
	pfm_pmu_info_t info = {.size = sizeof(info)};
	pfm_event_info_t event;

	if (pfm_get_pmu_info(pmu, &info) != PFM_SUCCESS)
		return;
	for (int i = info.first_event; i != -1; i = pfm_get_event_next(i)) {
		event = (pfm_event_info_t){.size = sizeof(event)};
		if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
			visit(arg, &event);
	}
}

struct visitor {
	void *arg;
	cpci_walk_fn *action;
};

/* Short names are those that stand for another one; tracepoints do not. */
static void visit_generic(void *arg, const pfm_event_info_t *event)
{
	const struct visitor *v = arg;
	char name[64];

	if (event->equiv == NULL || strlcpy(name, event->name, sizeof(name)) >= sizeof(name))
		return;
	for (char *c = name; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	v->action(v->arg, name, "");
}

void cpci_pfm_walk(void *arg, cpci_walk_fn *action)
{
	struct visitor v = {.arg = arg, .action = action};

	if (usable())
		walk_pmu(PFM_PMU_PERF_EVENT, &v, visit_generic);
}

/* The event, and with each of its unit masks. */
static void visit_core(void *arg, const pfm_event_info_t *event)
{
	pfm_event_attr_info_t attr;
	const struct visitor *v = arg;
	char name[256];
	int i;

	v->action(v->arg, event->name, event->desc);
	pfm_for_each_event_attr(i, event)
	{
		attr = (pfm_event_attr_info_t){.size = sizeof(attr)};
		if (pfm_get_event_attr_info(event->idx, i, PFM_OS_PERF_EVENT, &attr) !=
			    PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event->name, attr.name);
		v->action(v->arg, name, attr.desc);
	}
}

void cpci_pfm_walk_core(void *arg, cpci_walk_fn *action)
{
	struct visitor v = {.arg = arg, .action = action};
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	if (!usable())
		return;
	pfm_for_all_pmus(pmu) {
		info = (pfm_pmu_info_t){.size = sizeof(info)};
		if (pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && info.is_present &&
		    info.type == PFM_PMU_TYPE_CORE)
			walk_pmu(pmu, &v, visit_core);
	}
}
