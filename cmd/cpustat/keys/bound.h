/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * bound.h - the CPUs whose counts are divided among keys: bound, lost, and bound again.
 */
#ifndef BOUND_H
#define BOUND_H

#include "../meters.h"

#include "../../../liblwps/account.h"
#include "../../program/percpu.h"

enum bound_state {
	BOUND_ABSENT, /* it has been offline since the start */
	BOUND_COUNTED,
	BOUND_LOST, /* it went offline, or lost its counters */
	BOUND_NEW,  /* it came online after the start, and is not counted yet */
};

/* One set at a time.  `meter` gets the number of CPUs that count, and the status. */
struct bound {
	struct meter *meter;
	cpc_t *cpc;
	const bool *is_omitted; /* by number of the CPU */
	struct percpu percpu;
	enum bound_state *state; /* by number of the CPU; NULL: no set was bound yet */
};

/*
 * Binds a set to the CPUs that are online and not omitted.  False: it counts nowhere; see `why`,
 * which stays empty if a message has reported each CPU.
 */
bool bound_bind(struct bound *bound, cpc_set_t *set, char *why, size_t size);
void bound_unbind(struct bound *bound);
void bound_free(struct bound *bound);

/*
 * The files of a CPU for `ncounters` columns: fd[0], fd[stride], ....  -1: the set is not bound
 * there.
 */
void bound_fds(const struct bound *bound, unsigned cpu, unsigned ncounters, int *fd, size_t stride);

/*
 * Notices which CPUs have lost their counters since the last call; after account_flush(), which has
 * set `online`.  `buf`: scratch buffer of the set.
 */
void bound_watch(struct bound *bound, const struct account *account, const bool *online,
		 cpc_buf_t *buf);

/* Counts again on CPUs that have come back, or whose counters another program has released. */
void bound_retry(struct bound *bound, struct account *account, cpc_set_t *set, unsigned ncounters);

#endif /* BOUND_H */
