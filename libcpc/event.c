/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.c - from the name of an event to the counter of the kernel.
 */
#include "cpc_impl.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool cpci_parse_number(const char *s, uint64_t *val)
{
	char *end;

	if (!isdigit((unsigned char)*s)) /* strtoull(3) takes blanks and signs */
		return false;
	errno = 0;
	*val = strtoull(s, &end, 0);
	return *end == '\0' && errno == 0;
}

/* What perf(1) knows and libpfm4 does not. */
static const struct {
	const char *name, *desc;
	uint64_t config;
} software[] = {
	{"alignment-faults", "misaligned accesses that the kernel carried out",
	 PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", "instructions that the kernel emulated",
	 PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", "nothing, ever", PERF_COUNT_SW_DUMMY},
};

void cpci_event_walk(void *arg, cpci_walk_fn *action)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		action(arg, software[i].name, software[i].desc);
}

static int resolve_software(const char *name, uint_t flags, struct cpci_event *event,
			    struct cpci_diag *diag)
{
	(void)diag;
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++) {
		if (strcasecmp(software[i].name, name) != 0)
			continue;
		event->nterms = 1;
		event->term[0] = (struct cpci_term){.type = PERF_TYPE_SOFTWARE,
						    .config = software[i].config};
		cpci_term_modes(&event->term[0], flags);
		return 1;
	}
	return 0;
}

/* A non-zero number is a code of the core PMU. */
static int resolve_raw(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	char pmu[CPCI_PMU_NAME];
	uint64_t code;

	if (!isdigit((unsigned char)*name))
		return 0;
	if (name[strspn(name, "0123456789xabcdefABCDEF")] == ':') {
		cpci_diag(
			diag, EINVAL, CPC_INVALID_EVENT,
			"bad event '%s': a code of the CPU has no modifiers; the attributes sys and "
			"nouser tell the mode",
			name);
		return -1;
	}
	if (!cpci_parse_number(name, &code) || code == 0) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "bad event '%s': a code of the CPU is a number from 1 to %#llx", name,
			  (unsigned long long)UINT64_MAX);
		return -1;
	}
	if (cpci_pmu_name(PERF_TYPE_RAW, pmu) && (code & ~cpci_pmu_mask(pmu)) != 0) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "bad event '%s': no field of PMU '%s' has the bits 0x%llx", name, pmu,
			  (unsigned long long)(code & ~cpci_pmu_mask(pmu)));
		return -1;
	}
	event->nterms = 1;
	event->term[0] = (struct cpci_term){.type = PERF_TYPE_RAW, .config = code};
	cpci_term_modes(&event->term[0], flags);
	return 1;
}

/* The first that knows the name wins. */
static const struct {
	const char *name;
	cpci_resolver *resolve;
} resolvers[] = {
	{"user definition", cpci_event_user},
	{"Solaris name", cpci_event_solaris},
	{"generic name", cpci_event_generic},
	{"libpfm4", cpci_event_pfm},
	{"kernel", resolve_software},
	{"breakpoint", cpci_event_break},
	{"sysfs", cpci_event_sysfs},
	{"tracepoint", cpci_event_trace},
	{"raw code", resolve_raw}, /* the last: it takes all that begins with a digit */
};

void cpci_term_modes(struct cpci_term *term, uint_t flags)
{
	term->exclude_user = (flags & CPC_COUNT_USER) == 0;
	term->exclude_kernel = (flags & CPC_COUNT_SYSTEM) == 0;
	term->exclude_hv = term->exclude_kernel;
}

bool cpci_term_is_software(const struct cpci_term *term)
{
	return term->type == PERF_TYPE_SOFTWARE || term->type == PERF_TYPE_TRACEPOINT ||
	       term->type == PERF_TYPE_BREAKPOINT;
}

/*
 * The kernel raises these with its own registers: leaving out kernel mode makes
 * them count nothing, ever.
 */
static bool happens_in_kernel_only(const struct cpci_term *term)
{
	if (term->type == PERF_TYPE_TRACEPOINT)
		return true;
	return term->type == PERF_TYPE_SOFTWARE &&
	       (term->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		term->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		term->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

/* Clocks run in both modes whatever they are told; so ask for the one that is free. */
bool cpci_term_is_clock(const struct cpci_term *term)
{
	return term->type == PERF_TYPE_SOFTWARE && (term->config == PERF_COUNT_SW_CPU_CLOCK ||
						    term->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* What every term must be, whoever resolved it. */
static void finish(struct cpci_term *term)
{
	if (cpci_term_is_software(term)) {
		/* Guests have kernels of their own; some kernels refuse to be told so. */
		term->exclude_guest = term->exclude_host = false;
	}
	if (cpci_term_is_clock(term)) {
		term->exclude_user = false;
		term->exclude_kernel = term->exclude_hv = true;
	}
	if (happens_in_kernel_only(term))
		term->exclude_user = term->exclude_kernel = term->exclude_hv = false;
}

static void try_name(void *arg, const char *name, const char *desc)
{
	(void)desc;
	cpci_nearest_try(arg, name);
}

static void unknown(const char *name, const struct cpci_defs *defs, struct cpci_diag *diag)
{
	struct cpci_nearest near;
	const char *cpu;

	if (cpci_pfm_elsewhere(name, &cpu)) {
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': it is an event of another CPU (%s)", name, cpu);
		return;
	}
	cpci_nearest_start(&near, name);
	for (size_t i = 0; defs != NULL && i < defs->n; i++)
		cpci_nearest_try(&near, defs->def[i].name);
	cpci_event_walk(&near, try_name);
	cpci_pfm_walk(&near, try_name);
	cpci_pfm_walk_core(&near, try_name);
	cpci_attr_try(&near); /* written without a value, it is taken for an event */
	if (near.best[0] != '\0')
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "unknown event '%s' (did you mean '%s'?)", name, near.best);
	else
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "unknown event '%s'", name);
}

int cpci_event_resolve(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	int known = 0;

	for (size_t i = 0; known == 0 && i < sizeof(resolvers) / sizeof(*resolvers); i++) {
		event->nterms = 0;
		event->scale = 1;
		event->unit[0] = '\0';
		event->resolver = resolvers[i].name;
		known = resolvers[i].resolve(name, flags, event, diag);
	}
	if (known == 0)
		unknown(name, event->defs, diag);
	if (known != 1)
		return -1;
	for (uint_t i = 0; i < event->nterms; i++)
		finish(&event->term[i]);
	if (event->depth == 0 && cpci_pmu_spread(event) == -1) {
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': for the %zu kinds of cores of this machine it takes "
			  "more than %d counters",
			  name, cpci_cores()->n, CPCI_MAX_TERMS);
		return -1;
	}
	return 0;
}
