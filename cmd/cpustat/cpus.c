/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpus.c - which CPUs are counted.
 */
#include "cpus.h"

#include "../base/say.h"
#include "../base/util.h"

#include <bsd/string.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS (1 << 16) /* Linux has fewer */

/* The first set that this CPU cannot count, or NULL. */
static const struct setgrp_set *cannot_count(cpc_t *cpc, const struct setgrp *grp, int cpu)
{
	for (size_t k = 0; k < grp->n; k++) {
		if (!cpc_set_counts_on(cpc, grp->set[k].set, cpu))
			return &grp->set[k];
	}
	return NULL;
}

/* Why is no CPU left? */
static void say_why(cpc_t *cpc, const struct setgrp *grp, const cpu_set_t *mask, size_t size)
{
	for (size_t k = 0; k < grp->n; k++) {
		const struct setgrp one = {.n = 1, .set = &grp->set[k]};
		size_t i = 0;

		while (i < MAX_CPUS &&
		       (!CPU_ISSET_S(i, size, mask) || cannot_count(cpc, &one, (int)i) != NULL))
			i++;
		if (i == MAX_CPUS) {
			say("cannot count '%s': none of the CPUs of its PMU is online and allowed "
			    "here",
			    grp->set[k].text);
			return;
		}
	}
	say("cannot count '%s' and the other specs: no CPU has the PMUs of all; events of several "
	    "kinds of cores can be counted in one spec",
	    grp->set[0].text);
}

struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp)
{
	const struct setgrp_set *set, *refused = NULL;
	struct cpus cpus = {0};
	const size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	cpu_set_t *mask = xcalloc(1, size); /* contains only online CPUs */
	size_t left_out = 0;

	if (sched_getaffinity(0, size, mask) == -1) {
		say("cannot get the affinity mask: %s", strerror(errno));
		free(mask);
		return cpus;
	}
	cpus.id = xcalloc((size_t)CPU_COUNT_S(size, mask), sizeof(*cpus.id));
	for (size_t i = 0; i < MAX_CPUS; i++) {
		if (!CPU_ISSET_S(i, size, mask))
			continue;
		set = cannot_count(cpc, grp, (int)i);
		if (set == NULL) {
			cpus.id[cpus.n++] = (int)i;
		} else {
			refused = set;
			left_out++;
		}
	}
	if (cpus.n == 0)
		say_why(cpc, grp, mask, size);
	else if (left_out > 0)
		say("cannot count '%s' on all CPUs: its PMU lacks %zu of them", refused->text,
		    left_out);
	free(mask);
	return cpus;
}

void cpus_lost_reason(cpc_t *cpc, const cpc_set_t *set, int error, char *reason, size_t size)
{
	static const char invalidated[] = "perf counter contents invalidated";
	char holder[CPUS_REASON - sizeof(invalidated) - 2];

	if (error == EAGAIN && cpc_set_lost(cpc, set, holder, sizeof(holder)) == 1)
		snprintf(reason, size, "%s: %s", invalidated, holder);
	else
		strlcpy(reason,
			error == EAGAIN	  ? invalidated
			: error == ENOSYS ? CPUS_OFFLINE
					  : strerror(error),
			size);
}

bool cpus_count(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone)
{
	struct cpus *cpus = arg, good = {.id = xcalloc(cpus->n, sizeof(*good.id))};
	bool all;

	for (size_t i = 0; i < cpus->n && (alone || good.n == i); i++) {
		/* Try without a claim; sampling claims the CPUs later. */
		if (cpc_set_counts_on(cpc, set, cpus->id[i]) &&
		    cpc_bind_cpu(cpc, cpus->id[i], set,
				 CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == 0) {
			cpc_unbind(cpc, set);
			good.id[good.n++] = cpus->id[i];
		}
	}
	all = good.n == cpus->n;
	if (alone && good.n > 0) {
		memcpy(cpus->id, good.id, good.n * sizeof(*good.id));
		cpus->n = good.n;
		all = true;
	}
	free(good.id);
	return all;
}
