/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* fit.c - which events fit the PMU together, and a spare event that makes opening cheap. */
#include "group.h"

#include <stdlib.h>
#include <unistd.h>

/* Do these two events fit the PMU together? */
static bool fits_pair(const struct cpci_term *a, const struct cpci_term *b,
		      struct cpci_target target)
{
	int fd[2] = {cpci_term_open(a, target, -1, false), -1};

	if (fd[0] == -1)
		return true; /* the error has another reason */
	fd[1] = cpci_term_open(b, target, fd[0], false);
	close(fd[0]);
	if (fd[1] != -1)
		close(fd[1]);
	return fd[1] != -1;
}

bool cpci_group_conflict(const struct cpci_plan *plan, struct cpci_target target,
			 struct cpci_term_ref bad, struct cpci_term_ref *other)
{
	const struct cpci_term *term = cpci_plan_term(plan, bad);
	const struct cpci_group *group = plan->group;
	uint_t at = 0;

	while (plan->ref[at].req != bad.req || plan->ref[at].term != bad.term)
		at++;
	while (at >= group->first + group->n)
		group++;
	/* Metrics cannot be tried in pairs: slots must lead their group. */
	if (cpci_topdown_is_metric(&term->attr))
		return false;
	/* Events of other groups are of other PMUs. */
	for (uint_t i = group->first; i < at; i++) {
		*other = plan->ref[i];
		if (!cpci_perf_is_software(&cpci_plan_term(plan, *other)->attr) &&
		    !fits_pair(cpci_plan_term(plan, *other), term, target))
			return true;
	}
	return false;
}

/*
 * Keeps a spare event of each kind open.  When the first event of a kind is opened, the
 * kernel patches its code, and when the last one is closed, it undoes that: each takes 200 us
 * and more.  The spare one need not count, and failing to open it only costs speed.  For a
 * breakpoint, another event serves that uses no debug register.
 */
void cpci_group_keep(struct cpci_plan *plan)
{
	if (plan->spare != NULL)
		return;
	plan->spare = calloc(plan->nterms, sizeof(*plan->spare));
	for (uint_t i = 0; plan->spare != NULL && i < plan->nterms; i++) {
		const struct perf_event_attr *attr = &cpci_plan_nth(plan, i)->attr;

		plan->spare[i] = -1;
		if (cpci_plan_nth(plan, i)->site > 1)
			continue;
		if (attr->type == PERF_TYPE_BREAKPOINT || cpci_perf_is_uprobe(attr))
			attr = &cpci_perf_dummy;
		plan->spare[i] = cpci_perf_open(attr, CPCI_TARGET_SELF, -1, true);
	}
}

/* Adds events like `attr` to a group of `n`, until the PMU refuses one; returns its size. */
static uint_t fill_group(const struct perf_event_attr *attr, int *fd, uint_t n, uint_t max)
{
	while (n < max &&
	       (fd[n] = cpci_perf_open(attr, CPCI_TARGET_SELF, n > 0 ? fd[0] : -1, false)) != -1)
		n++;
	return n;
}

/* The number of counters of a kind of core; NULL: of the only kind. */
static uint_t count_counters(const struct cpci_core *core)
{
	/* Fixed counters count one of these each; the general counters can count instructions. */
	static const uint64_t kinds[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES,
					 PERF_COUNT_HW_INSTRUCTIONS};
	uint_t n = 0;
	int fd[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
					       .config = kinds[i],
					       .exclude_kernel = 1,
					       .exclude_hv = 1};
		bool one = kinds[i] != PERF_COUNT_HW_INSTRUCTIONS;

		if (core != NULL)
			cpci_generic_for(&attr, core);
		n = fill_group(&attr, fd, n, one ? n + 1 : sizeof(fd) / sizeof(*fd));
	}
	for (uint_t i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

uint_t cpci_group_capacity(void)
{
	const struct cpci_cores *cores = cpci_cores();
	uint_t least = count_counters(cores->n > 1 ? &cores->core[0] : NULL);

	for (size_t i = 1; i < cores->n; i++) {
		const uint_t n = count_counters(&cores->core[i]);

		least = n < least ? n : least;
	}
	return least;
}

/* Instructions, on the kind of core that has the event `attr`; NULL: the first kind. */
static struct perf_event_attr instructions_beside(const struct perf_event_attr *attr)
{
	struct perf_event_attr instructions = {.type = PERF_TYPE_HARDWARE,
					       .config = PERF_COUNT_HW_INSTRUCTIONS,
					       .exclude_kernel = 1,
					       .exclude_hv = 1};
	const struct cpci_cores *cores = cpci_cores();
	size_t kind = 0;

	for (size_t i = 0; attr != NULL && i < cores->n; i++) {
		if (attr->type == cores->core[i].type ||
		    (attr->type == PERF_TYPE_HARDWARE &&
		     attr->config >> CPCI_CORE_SHIFT == cores->core[i].type))
			kind = i;
	}
	if (cores->n > 1)
		cpci_generic_for(&instructions, &cores->core[kind]);
	return instructions;
}

bool cpci_group_slot_is_general(uint_t slot)
{
	const struct perf_event_attr instructions = instructions_beside(NULL);

	return cpci_group_slot_counts(slot, &instructions);
}

/* Instructions occupy all general counters; a counter that is still free has its own kind. */
bool cpci_group_slot_counts(uint_t slot, const struct perf_event_attr *attr)
{
	const struct perf_event_attr instructions = instructions_beside(attr);
	int fd[64];
	uint_t n = fill_group(&instructions, fd, 0, 63), all = n;

	if (n > 0 && slot >= n)
		all = fill_group(attr, fd, n, n + 1);
	for (uint_t i = 0; i < all; i++)
		close(fd[i]);
	return n == 0 || slot < n || all > n;
}
