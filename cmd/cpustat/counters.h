/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.h - sets on CPUs, and what becomes of them.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "../common/setgrp.h"
#include "cpus.h"
#include "soaker.h"

#include <stdbool.h>

enum cpu_state {
	CPU_COUNTED, /* whenever a set is bound */
	CPU_AWAY,    /* it went offline, or its counters were lost: it is tried again */
	CPU_FAILED,  /* left out from now on */
};

struct cpu {
	int id;
	enum cpu_state state;
	struct counted *set; /* one per set of the group */
	struct soaker *soaker;
};

/* One set of the group is bound at a time, on all CPUs that can be counted. */
struct counters {
	cpc_t *cpc;
	const struct setgrp *grp;
	uint_t flags;	 /* of cpc_bind_cpu */
	bool soak;	 /* while system-only sets are bound */
	bool failed;	 /* some CPU was not counted all the time */
	size_t n, nleft; /* CPUs; those among them that are counted */
	struct cpu *cpu; /* ascending */
	cpc_buf_t **now; /* one per set, for samples */
};

/* To be called on a structure whose members up to `soak` are set. */
void counters_make(struct counters *counters, const struct cpus *cpus);
void counters_free(struct counters *counters);

/*
 * Binds set `k` of the group wherever it can be; messages tell where not.  -1: there is
 * no point in going on.
 */
int counters_bind(struct counters *counters, size_t k);
/* Notices, too, what was lost after the last sample. */
void counters_unbind(struct counters *counters, size_t k);

/*
 * What the bound set `k` counted on a CPU since it was bound there or sampled, valid up
 * to the next sample.  NULL: that CPU is not counted, as a message told.
 */
cpc_buf_t *counters_sample(struct counters *counters, struct cpu *cpu, size_t k);

/* Tries CPUs that are away: a message tells of those that are counted again. */
void counters_retry(struct counters *counters, size_t k);

#endif /* COUNTERS_H */
