/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * scheduled.h - the events of the scheduler on whole CPUs: how long each was busy, how long the
 * tasks that ran there had waited, and how often they were preempted.
 */
#ifndef SCHEDULED_H
#define SCHEDULED_H

#include "../../../libcpc/set/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events are bits CPC_SCHED_BIT(). */
#define SCHEDULED_EVENTS                                                           \
	(CPC_SCHED_BIT(CPC_SCHED_BUSY_TIME) | CPC_SCHED_BIT(CPC_SCHED_RUN_DELAY) | \
	 CPC_SCHED_BIT(CPC_SCHED_PREEMPTIONS))
#define SCHEDULED_N 3

struct scheduled;

/* Begins to count events, on all CPUs.  NULL: see `why`. */
struct scheduled *scheduled_open(unsigned events, char *why, size_t size);
void scheduled_close(struct scheduled *scheduled);
unsigned scheduled_events(const struct scheduled *scheduled);
/*
 * Reads the counts of a CPU since scheduled_open(), by event: the first is that of
 * CPC_SCHED_BUSY_TIME.  Times are in nanoseconds.  Sets `*incomplete` if the kernel has not
 * reported a switch since the last call.  -1: errno; ENXIO: the CPU is offline.
 */
int scheduled_read(struct scheduled *scheduled, int cpu, uint64_t count[SCHEDULED_N],
		   bool *incomplete);

#endif /* SCHEDULED_H */
