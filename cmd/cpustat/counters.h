/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.h - binds sets to CPUs, samples them, and notices when a CPU is lost.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "../base/setgrp.h"
#include "cpus.h"
#include "soaker.h"

#include <stdbool.h>

enum cpu_state {
	CPU_COUNTED, /* the bound set counts on it */
	CPU_LOST,    /* it went offline or lost its counters; it is retried */
	CPU_FAILED,  /* it is not retried */
};

struct cpu {
	int id;
	enum cpu_state state;
	struct bound_set *set; /* one per set of the group */
	struct soaker *soaker;
};

/* Binds one set of the group at a time to all CPUs. */
struct counters {
	cpc_t *cpc;
	const struct setgrp *grp;
	uint_t flags;	 /* of cpc_bind_cpu(3) */
	bool soak;	 /* run soakers while a set that counts kernel mode only is bound */
	bool failed;	 /* some CPU was not counted during the whole run */
	bool wrong_spec; /* the kernel refused a spec on all CPUs */
	size_t n, nleft; /* the number of CPUs, and of CPUs that are counted now */
	struct cpu *cpu; /* ascending */
	cpc_buf_t **now; /* one per set, for samples */
};

/* The caller sets the members up to `soak`. */
void counters_make(struct counters *counters, const struct cpus *cpus);
void counters_free(struct counters *counters);

/* A buffer for set `k` of the group. */
cpc_buf_t *counters_new_buf(const struct counters *counters, size_t k);

/*
 * Binds set `k` of the group to each CPU; a message reports each failure.  -1: no CPU is left, or
 * the set would fail on all CPUs.
 */
int counters_bind(struct counters *counters, size_t k);
/* Takes a last sample: only this shows counters that were lost since the previous one. */
void counters_unbind(struct counters *counters, size_t k);

/*
 * Returns the counts of set `k` on a CPU since it was bound or last sampled, in a buffer that is
 * valid until the next call.  NULL: the CPU is not counted; a message reported this.
 */
cpc_buf_t *counters_sample(struct counters *counters, struct cpu *cpu, size_t k);

/* Retries to bind set `k` to lost CPUs, and reports those that count again. */
void counters_retry(struct counters *counters, size_t k);

#endif /* COUNTERS_H */
