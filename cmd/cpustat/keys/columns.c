/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * columns.c - from which column of a slot the counts of a set come, when those of CPUs are divided.
 */
#include "columns.h"
#include "../../../libcpc/set/counter.h"

#include <linux/perf_event.h>
#include <stdio.h>

/*
 * The kernel counts a context switch after the program at the switch has read the counters.  So
 * that program counts switches itself, and charges each to the task that leaves.
 */
static enum lwps_kind kind_of(const struct perf_event_attr *attr)
{
	if (attr->type != PERF_TYPE_SOFTWARE)
		return LWPS_CPU;
	switch (attr->config) {
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_CPU_CLOCK:
		return LWPS_CLOCK;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return LWPS_SWITCH;
	default:
		return LWPS_CPU;
	}
}

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES
#define PERF_COUNT_SW_CGROUP_SWITCHES 11 /* Linux 5.13 */
#endif

/* Why not; NULL: it can be divided. */
static const char *cannot_divide(const struct cpc_counter *counter)
{
	const struct perf_event_attr *attr = counter->attr;

	if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_CGROUP_SWITCHES)
		return "counts for the cgroup that comes, not for that which leaves";
	if (attr->type <= PERF_TYPE_BREAKPOINT || counter->core)
		return NULL;
	return "is of a PMU whose counters do not belong to one CPU";
}

bool columns_find(struct columns *columns, cpc_t *cpc, const struct setgrp_set *set, char *why,
		  size_t size)
{
	struct cpc_counter counter[LWPS_MAX_COLUMNS];
	int n = cpc_set_counters(cpc, set->set, counter, LWPS_MAX_COLUMNS);

	*columns = (struct columns){0};
	if (n < 0 || n >= LWPS_MAX_COLUMNS) {
		snprintf(why, size, "a spec can have %d events at most", LWPS_MAX_COLUMNS - 1);
		return false;
	}
	for (int i = 0; i < n; i++) {
		const char *reason = cannot_divide(&counter[i]);

		if (reason != NULL) {
			snprintf(why, size, "'%s' %s", set->spec.req[counter[i].index].event,
				 reason);
			return false;
		}
		columns->kind[i] = kind_of(counter[i].attr);
	}
	columns->ncounters = columns->clock = (unsigned)n;
	columns->n = columns->ncounters + 1;
	columns->kind[columns->clock] = LWPS_CLOCK;
	return true;
}
