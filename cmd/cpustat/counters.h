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
	CPU_COUNTED, /* it is counted whenever a set is bound */
	CPU_AWAY,    /* it went offline or lost its counters; it is tried again */
	CPU_FAILED,  /* it is not tried again */
};

struct cpu {
	int id;
	enum cpu_state state;
	struct counted *set; /* one per set of the group */
	struct soaker *soaker;
};

/* One set of the group at a time is bound on all CPUs that can be counted. */
struct counters {
	cpc_t *cpc;
	const struct setgrp *grp;
	uint_t flags;	 /* of cpc_bind_cpu */
	bool soak;	 /* run soakers while a set that counts kernel mode only is bound */
	bool failed;	 /* some CPU was not counted during the whole run */
	bool wrong_spec; /* the kernel takes a spec nowhere, as it is written */
	size_t n, nleft; /* number of CPUs, and of those that are counted now */
	struct cpu *cpu; /* ascending */
	cpc_buf_t **now; /* one per set, for samples */
};

/* The caller sets the members up to `soak`. */
void counters_make(struct counters *counters, const struct cpus *cpus);
void counters_free(struct counters *counters);

/*
 * Binds set `k` of the group on each CPU; a message reports each failure.  -1: no CPU
 * is left, or all would fail.
 */
int counters_bind(struct counters *counters, size_t k);
/* Takes a last sample, which shows counters that were lost since the one before. */
void counters_unbind(struct counters *counters, size_t k);

/*
 * Returns what set `k` counted on a CPU since it was bound or last sampled; the buffer is
 * valid until the next call.  NULL: the CPU is not counted, which was reported.
 */
cpc_buf_t *counters_sample(struct counters *counters, struct cpu *cpu, size_t k);

/* Tries to bind set `k` on CPUs that are away, and reports those that are back. */
void counters_retry(struct counters *counters, size_t k);

#endif /* COUNTERS_H */
