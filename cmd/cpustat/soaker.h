/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * soaker.h - threads that keep CPUs from idling.
 */
#ifndef SOAKER_H
#define SOAKER_H

struct soaker;

/*
 * Makes a thread of the lowest priority (SCHED_IDLE) spin on the CPU.  `*soaker` must be NULL at
 * the first call, and is reused later.  Returns 0, or an errno; EINVAL: the CPU is offline or not
 * in our cpuset.
 */
int soaker_start(struct soaker **soaker, int cpu);

/*
 * Makes the thread sleep, but does not wait for it: on a busy CPU it may run only much later, and
 * disturbs nothing until then.
 */
void soaker_stop(struct soaker *soaker);

#endif /* SOAKER_H */
