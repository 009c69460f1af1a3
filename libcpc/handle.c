/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * handle.c - open and close the library; what this machine has.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>

#define VIRTUAL_SLOTS 16 /* where no hardware limits them */

static _Thread_local pid_t self;

static void forget_parent(void)
{
	self = 0;
	cpci_claims_forget();
}

/* A forked child has the parent's thread-local variables, but another id. */
static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_parent);
}

pid_t cpci_self(void)
{
	if (self == 0)
		self = (pid_t)_lwp_self();
	return self;
}

/* By the kernel: with a file for each counter, the one that overflows is known. */
static uint_t find_caps(bool hardware)
{
	const struct cpci_term term = {
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES
				   : (uint64_t)PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = true,
		.exclude_hv = true,
	};

	return cpci_group_overflows(&term) ? CPC_CAP_OVERFLOW_INTERRUPT | CPC_CAP_OVERFLOW_PRECISE
					   : 0;
}

static void find_hardware(cpc_t *cpc)
{
	struct cpci_core_pmu core = {.desc = "unknown CPU"};
	char pmu[CPCI_PMU_NAME] = "cpu";
	bool hardware = cpci_have_core_pmu();

	cpc->caps = find_caps(hardware);
	cpc->npic = VIRTUAL_SLOTS;
	if (!hardware) {
		snprintf(cpc->cciname, sizeof(cpc->cciname),
			 "Linux perf events (no hardware counters)");
		return;
	}
	cpci_pfm_core(&core);
	cpci_pmu_name(PERF_TYPE_RAW, pmu);
	cpc->npic = cpci_group_capacity();
	if (cpc->npic == 0) /* not permitted to count */
		cpc->npic = core.ncounters > 0 ? core.ncounters : VIRTUAL_SLOTS;
	if (cpci_cores()->n > 1)
		snprintf(cpc->cciname, sizeof(cpc->cciname),
			 "%s (%zu kinds of cores, counts are sums over them; %u counters)",
			 core.desc, cpci_cores()->n, cpc->npic);
	else
		snprintf(cpc->cciname, sizeof(cpc->cciname), "%s (PMU %s, %u counters)", core.desc,
			 pmu, cpc->npic);
}

cpc_t *cpc_open(int ver)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cpc_t *cpc;

	if (ver != CPC_VER_CURRENT) {
		errno = EINVAL;
		return NULL;
	}
	if (cpci_paranoid() == INT_MIN) {
		errno = ENOSYS;
		return NULL;
	}
	pthread_once(&once, watch_forks);
	cpc = calloc(1, sizeof(*cpc));
	if (cpc == NULL)
		return NULL;
	pthread_mutex_init(&cpc->lock, NULL);
	LIST_INIT(&cpc->sets);
	LIST_INIT(&cpc->bufs);
	LIST_INIT(&cpc->symfiles);
	cpci_clock_start(&cpc->clock);
	return cpc;
}

int cpc_close(cpc_t *cpc)
{
	cpc_set_t *set;
	cpc_buf_t *buf;

	while ((set = LIST_FIRST(&cpc->sets)) != NULL)
		cpc_set_destroy(cpc, set);
	while ((buf = LIST_FIRST(&cpc->bufs)) != NULL)
		cpc_buf_destroy(cpc, buf);
	cpci_defs_free(cpc->defs);
	cpci_symfiles_free(cpc);
	pthread_mutex_destroy(&cpc->lock);
	free(cpc);
	return 0;
}

const struct cpci_defs *cpci_defs(cpc_t *cpc, struct cpci_diag *diag)
{
	pthread_mutex_lock(&cpc->lock);
	if (cpc->defs == NULL)
		cpc->defs = cpci_defs_new(diag);
	pthread_mutex_unlock(&cpc->lock);
	return cpc->defs;
}

/* Found out when first asked for: most programs that count never ask. */
static void know_hardware(cpc_t *cpc)
{
	pthread_mutex_lock(&cpc->lock);
	if (cpc->npic == 0)
		find_hardware(cpc);
	pthread_mutex_unlock(&cpc->lock);
}

uint_t cpc_npic(cpc_t *cpc)
{
	know_hardware(cpc);
	return cpc->npic;
}

uint_t cpc_caps(cpc_t *cpc)
{
	know_hardware(cpc);
	return cpc->caps;
}

const char *cpc_cciname(cpc_t *cpc)
{
	know_hardware(cpc);
	return cpc->cciname;
}

const char *cpc_cpuref(cpc_t *cpc)
{
	(void)cpc;
	return "See perf_event_open(2) for software events, and the manuals of the CPU's vendor "
	       "for its hardware events.";
}
