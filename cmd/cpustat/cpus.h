/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpus.h - which CPUs are counted, and which of them form a core, a socket, a NUMA node or a kind.
 */
#ifndef CPUS_H
#define CPUS_H

#include "../base/setgrp.h"
#include "../rows/row.h"

#include <stdbool.h>

struct cpus {
	size_t n;
	int *id;	  /* ascending */
	bool *is_omitted; /* by number: do not count it, even if it comes online later */
	size_t nomitted;  /* online CPUs that are not in our affinity mask */
};

#define CPUS_MAX (1 << 16) /* Linux has fewer */

/*
 * Finds the CPUs to count: the online ones of `list`, such as "0,2-5", all that are online
 * ("all"), or those in our affinity mask (NULL); only those that can count all sets.  Reports how
 * many cannot.  If no CPU is left, a message says why.
 */
struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp, const char *list);
void cpus_free(struct cpus *cpus);

#define CPUS_OFFLINE "the CPU went offline"
#define CPUS_REASON 1100 /* room for a reason */

/* Writes why a set on a CPU could not be sampled; `error`: the errno of cpc_set_sample(3CPC). */
void cpus_lost_reason(cpc_t *cpc, const cpc_set_t *set, int error, char *reason, size_t size);

/*
 * For struct split_trial; `arg` is a struct cpus.  If only some CPUs can count a single event
 * (`alone`), it removes the others.
 */
bool cpus_count(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone);

/*
 * Returns the core, socket, node and PMU of each CPU; free these and the array.  `sysfs` is
 * /sys/devices/system/cpu, or a folder of a test.  A CPU whose core is unknown is a core of its
 * own; an unknown socket or node is 0.
 */
struct run_cpu *topology_find(const char *sysfs, const struct cpus *cpus);

#endif /* CPUS_H */
