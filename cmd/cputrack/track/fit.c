/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fit.c - which events the kernel engine can count, and in which columns of its slots.
 */
#include "fit.h"
#include "../../../libcpc/set/counter.h"

#include "../../base/util.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These count nanoseconds of a task other than the current one. */
#define TRACEPOINTS_OF_TIME "sched:sched_stat_"
#define SYMBOL_WITHOUT_PATH "a symbol without the path of its file is looked up in each process"

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
	case PERF_COUNT_SW_CGROUP_SWITCHES:
		*kind = LWPS_CGROUP;
		break;
	case CPC_SCHED_RUN_DELAY:
		*kind = LWPS_DELAY;
		return NULL;
	case CPC_SCHED_PREEMPTIONS:
		*kind = LWPS_PREEMPT;
		return NULL;
	case PERF_COUNT_SW_PAGE_FAULTS:
	case PERF_COUNT_SW_PAGE_FAULTS_MIN:
	case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
	case PERF_COUNT_SW_ALIGNMENT_FAULTS:
	case PERF_COUNT_SW_EMULATION_FAULTS:
	case PERF_COUNT_SW_DUMMY:
		*kind = LWPS_SOFTWARE;
		return NULL;
	default:
		return "has not been tried there";
	}
	/* All of these happen in kernel mode. */
	return attr->exclude_kernel ? "happens in kernel mode, which is not counted" : NULL;
}

/* Returns why the kernel engine cannot count an event; NULL: it can. */
static const char *cannot_count(const struct cpc_counter *counter, const char *event,
				enum lwps_kind *kind)
{
	const struct perf_event_attr *attr = counter->attr;

	*kind = LWPS_CPU;
	if (attr->type == PERF_TYPE_SOFTWARE)
		return cannot_count_software(attr, kind);
	if (attr->type == PERF_TYPE_TRACEPOINT && strncmp(event, "tracepoint/", 11) == 0)
		return "is given by its number, and may count for another LWP";
	if (attr->type == PERF_TYPE_TRACEPOINT) {
		*kind = LWPS_SOFTWARE;
		return strncmp(event, TRACEPOINTS_OF_TIME, strlen(TRACEPOINTS_OF_TIME)) == 0
			       ? "counts for another LWP than that which runs"
			       : NULL;
	}
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return "would make each process on the machine stop there";
	if (counter->function) {
		*kind = LWPS_FUNCTION;
		return NULL;
	}
	if (!counter->core)
		return "is of a PMU that has not been tried there";
	if (!attr->exclude_kernel)
		return "would count the work of counting, in kernel mode";
	return NULL;
}

/* Makes column `i` the last one. */
static void set_last(struct fit *fit, unsigned i)
{
	fit->kind[i] = fit->times ? LWPS_CLOCK : LWPS_SLICE;
	fit->ncolumns = i + 1;
}

struct cpc_counter *fit_counters(cpc_t *cpc, const cpc_set_t *set, unsigned *n)
{
	struct cpc_counter *counter;

	*n = (unsigned)cpc_set_counters(cpc, set, NULL, 0);
	counter = xcalloc(*n + 1U, sizeof(*counter));
	cpc_set_counters(cpc, set, counter, *n);
	return counter;
}

static bool add_counter(struct fit *fit, const struct cpc_counter *counter, unsigned i,
			const char *event, char *why, size_t size)
{
	const unsigned column = fit->ncolumns;
	const char *reason;

	if (counter->further) {
		fit->n[column - 1]++;
		return true;
	}
	if (column == LWPS_MAX_COLUMNS - 1) {
		snprintf(why, size, "a spec can have %d events at most there",
			 LWPS_MAX_COLUMNS - 1);
		return false;
	}
	reason = cannot_count(counter, event, &fit->kind[column]);
	if (reason != NULL) {
		snprintf(why, size, "'%s' %s", event, reason);
		return false;
	}
	fit->counter[column] = i;
	fit->n[column] = 1;
	fit->ncolumns++;
	return true;
}

static bool find_columns(struct fit *fit, cpc_t *cpc, const struct setgrp_set *set, char *why,
			 size_t size)
{
	struct cpc_counter *counter = fit_counters(cpc, set->set, &fit->ncounters);
	bool good = true;

	for (unsigned i = 0; good && i < fit->ncounters; i++)
		good = add_counter(fit, &counter[i], i, set->spec.req[counter[i].index].event, why,
				   size);
	free(counter);
	if (good)
		set_last(fit, fit->ncolumns);
	return good;
}

static bool find_all(struct fit *fit, cpc_t *cpc, const struct setgrp *grp, char *why, size_t size)
{
	size_t ncolumns = 0;

	for (size_t i = 0; i < grp->n; i++) {
		if (grp->set[i].symbols) {
			snprintf(why, size, "%s", SYMBOL_WITHOUT_PATH);
			return false;
		}
		fit[i].times = grp->times;
		if (!find_columns(&fit[i], cpc, &grp->set[i], why, size))
			return false;
		ncolumns += fit[i].ncolumns;
	}
	if (ncolumns <= LWPS_MAX_COLUMNS)
		return true;
	snprintf(why, size, "%zu specs can have %zu events at most there", grp->n,
		 LWPS_MAX_COLUMNS - grp->n);
	return false;
}

struct fit *fit_find(cpc_t *cpc, const struct setgrp *grp, char *why, size_t size)
{
	struct fit *fit = xcalloc(grp->n, sizeof(*fit));

	if (find_all(fit, cpc, grp, why, size))
		return fit;
	free(fit);
	return NULL;
}

/* Does some place of a function exist? */
static bool is_open(const struct cpc_counter *counter, unsigned n)
{
	while (n > 0 && counter[n - 1].fd == -1 && counter[n - 1].file == -1)
		n--;
	return n > 0;
}

void fit_leave_out(struct fit *fit, cpc_t *cpc, const cpc_set_t *bound)
{
	unsigned n = 0, ncounters;
	struct cpc_counter *counter = fit_counters(cpc, bound, &ncounters);

	for (unsigned i = 0; i < fit->ncolumns - 1; i++) {
		if (fit->kind[i] == LWPS_FUNCTION && !is_open(&counter[fit->counter[i]], fit->n[i]))
			continue;
		fit->kind[n] = fit->kind[i];
		fit->n[n] = fit->n[i];
		fit->counter[n++] = fit->counter[i];
	}
	free(counter);
	set_last(fit, n);
}

void fit_counts(const struct fit *fit, const uint64_t *column, uint64_t *counter)
{
	memset(counter, 0, fit->ncounters * sizeof(*counter));
	for (unsigned i = 0; i < fit->ncolumns - 1; i++)
		counter[fit->counter[i]] = column[i];
}
