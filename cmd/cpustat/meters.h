/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * meters.h - meters for the sampler: of CPUs, or of keys that share the counts of all CPUs.
 */
#ifndef METERS_H
#define METERS_H

#include "cpus.h"
#include "keys/scheduled.h"
#include "sampler.h"

/*
 * Counts on these CPUs.  `scheduled`: of sets with events of the scheduler; or NULL.  `shared`:
 * without claims. `soak`: soakers run while a set that counts kernel mode only is bound.
 */
struct meter *counters_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			    struct scheduled *scheduled, bool shared, bool soak);

/*
 * Divides the counts of `cpus`, and of CPUs that come online later, among keys of this scope.
 * `depth`: SCOPE_CGROUP: the components of the paths; 0: all.  `debug`:
 * messages name the hierarchy of cgroups.  NULL after a message: this program cannot divide them.
 */
#define KEYS_EVENTS /* of the scheduler: bits CPC_SCHED_BIT() */                     \
	(CPC_SCHED_BIT(CPC_SCHED_RUN_DELAY) | CPC_SCHED_BIT(CPC_SCHED_PREEMPTIONS) | \
	 CPC_SCHED_BIT(CPC_SCHED_PREEMPTIONS_BY_OTHERS))
#define CGROUPS_EVENTS (KEYS_EVENTS | CPC_SCHED_BIT(CPC_SCHED_THROTTLED_TIME))
/* Why waits cannot be counted by keys; NULL: they can. */
const char *keys_no_delay(void);
struct meter *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			enum scope scope, unsigned depth, bool debug);

#endif /* METERS_H */
