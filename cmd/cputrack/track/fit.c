/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fit.c - what can be counted in the kernel, and from which column of a slot it comes.
 */
#include "fit.h"
#include "../../../libcpc/set/counter.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#define TRACEPOINTS_OF_OTHERS "sched:" /* some of them count for another task than runs */

static const char *cannot_count_software(const struct perf_event_attr *attr, enum lwps_kind *kind)
{
	switch (attr->config) {
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_CPU_CLOCK:
		*kind = LWPS_CLOCK;
		return NULL;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		*kind = LWPS_SWITCH;
		break;
	case PERF_COUNT_SW_CPU_MIGRATIONS:
		*kind = LWPS_MIGRATE;
		break;
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
	case PERF_COUNT_SW_DUMMY:
		*kind = LWPS_CPU;
		return NULL;
	default:
		return "has not been tried there";
	}
	/* These happen in the kernel, whatever runs. */
	return attr->exclude_kernel ? "happens in kernel mode, which is not counted" : NULL;
}

/* Why not; NULL: it can be counted. */
static const char *cannot_count(const struct cpc_counter *counter, const char *event,
				enum lwps_kind *kind)
{
	const struct perf_event_attr *attr = counter->attr;

	*kind = LWPS_CPU;
	if (attr->type == PERF_TYPE_SOFTWARE)
		return cannot_count_software(attr, kind);
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return strncmp(event, TRACEPOINTS_OF_OTHERS, strlen(TRACEPOINTS_OF_OTHERS)) == 0
			       ? "may count for another LWP than that which runs"
			       : NULL;
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return "would make each process on the machine stop there";
	if (!counter->core)
		return "is of a PMU that has not been tried there, or makes each process stop";
	if (!attr->exclude_kernel)
		return "would count the work of counting, in kernel mode";
	return NULL;
}

static bool refuse(char *why, size_t size, const char *reason)
{
	snprintf(why, size, "%s", reason);
	return false;
}

static bool find_columns(struct fit *fit, cpc_t *cpc, const struct setgrp_set *set, char *why,
			 size_t size)
{
	struct cpc_counter counter[LWPS_MAX_COLUMNS];
	int n = cpc_set_counters(cpc, set->set, counter, LWPS_MAX_COLUMNS);

	if (n < 0 || n >= LWPS_MAX_COLUMNS) {
		snprintf(why, size, "a spec can have %d events at most there",
			 LWPS_MAX_COLUMNS - 1);
		return false;
	}
	for (int i = 0; i < n; i++) {
		const char *event = set->spec.req[counter[i].index].event;
		const char *reason = cannot_count(&counter[i], event, &fit->kind[i]);

		if (reason == NULL)
			continue;
		snprintf(why, size, "'%s' %s", event, reason);
		return false;
	}
	fit->ncounters = fit->clock = (unsigned)n;
	fit->ncolumns = fit->ncounters + 1;
	fit->kind[fit->clock] = LWPS_CLOCK;
	return true;
}

bool fit_find(struct fit *fit, cpc_t *cpc, const struct setgrp *grp, char *why, size_t size)
{
	*fit = (struct fit){0};
	if (grp->n > 1)
		return refuse(why, size, "several sets take turns");
	if (grp->set[0].symbols)
		return refuse(
			why, size,
			"breakpoints and functions would make each process on the machine stop there");
	return find_columns(fit, cpc, &grp->set[0], why, size);
}
