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

		while (i < CPUS_MAX &&
		       (!CPU_ISSET_S(i, size, mask) || cannot_count(cpc, &one, (int)i) != NULL))
			i++;
		if (i == CPUS_MAX) {
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

/* Sets the CPUs of a list such as "0,2-5". */
static void set_ranges(const char *list, cpu_set_t *mask, size_t size)
{
	struct cpu_range *range;
	const size_t n = parse_cpu_list(list, &range);

	for (size_t i = 0; i < n; i++) {
		for (unsigned cpu = range[i].first; cpu <= range[i].last && cpu < CPUS_MAX; cpu++)
			CPU_SET_S(cpu, size, mask);
	}
	free(range);
}

#define ONLINE "/sys/devices/system/cpu/online"

/* False: the online CPUs are unknown; errno says why. */
static bool find_online(cpu_set_t *mask, size_t size)
{
	FILE *f = fopen(ONLINE, "re");
	char *line = NULL;
	size_t room = 0;

	if (f != NULL && getline(&line, &room, f) != -1) {
		line[strcspn(line, "\n")] = '\0';
		set_ranges(line, mask, size);
	}
	if (f != NULL)
		fclose(f);
	free(line);
	return CPU_COUNT_S(size, mask) > 0;
}

/* The CPUs that the caller asks for, or may use.  False after a message. */
static bool find_wanted(const char *list, const cpu_set_t *online, cpu_set_t *mask, size_t size)
{
	if (list == NULL && sched_getaffinity(0, size, mask) == -1) {
		say("cannot get the affinity mask: %s", strerror(errno));
		return false;
	}
	if (list != NULL && strcmp(list, "all") == 0)
		memcpy(mask, online, size);
	else if (list != NULL)
		set_ranges(list, mask, size);
	for (size_t i = 0; i < CPUS_MAX && list != NULL; i++) {
		if (CPU_ISSET_S(i, size, mask) && !CPU_ISSET_S(i, size, online)) {
			say("cannot count CPU %zu of --cpus '%s': it is not online", i, list);
			return false;
		}
	}
	return true;
}

/* Finds the CPUs of `mask` that can count all sets. */
static void find_counting(cpc_t *cpc, const struct setgrp *grp, const cpu_set_t *mask, size_t size,
			  struct cpus *cpus)
{
	const struct setgrp_set *set, *refused = NULL;
	size_t left_out = 0;

	cpus->id = xcalloc((size_t)CPU_COUNT_S(size, mask), sizeof(*cpus->id));
	for (size_t i = 0; i < CPUS_MAX; i++) {
		if (!CPU_ISSET_S(i, size, mask))
			continue;
		set = cannot_count(cpc, grp, (int)i);
		if (set == NULL) {
			cpus->id[cpus->n++] = (int)i;
		} else {
			refused = set;
			left_out++;
		}
	}
	if (cpus->n == 0)
		say_why(cpc, grp, mask, size);
	else if (left_out > 0)
		say("cannot count '%s' on all CPUs: its PMU lacks %zu of them", refused->text,
		    left_out);
}

struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp, const char *list)
{
	struct cpus cpus = {.is_omitted = xcalloc(CPUS_MAX, sizeof(*cpus.is_omitted))};
	const size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *online = xcalloc(1, size), *mask = xcalloc(1, size);
	bool of_list = list != NULL && strcmp(list, "all") != 0;

	if (!find_online(online, size) && list != NULL)
		say("the online CPUs are not known: cannot read " ONLINE ": %s", strerror(errno));
	else if (find_wanted(list, online, mask, size))
		find_counting(cpc, grp, mask, size, &cpus);
	for (size_t i = 0; i < CPUS_MAX; i++) {
		cpus.is_omitted[i] =
			!CPU_ISSET_S(i, size, mask) && (of_list || CPU_ISSET_S(i, size, online));
		cpus.nomitted += cpus.is_omitted[i] && list == NULL;
	}
	free(online);
	free(mask);
	return cpus;
}

void cpus_free(struct cpus *cpus)
{
	free(cpus->id);
	free(cpus->is_omitted);
	*cpus = (struct cpus){0};
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
