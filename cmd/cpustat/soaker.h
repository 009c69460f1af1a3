/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * soaker.h - threads that keep CPUs from idling.
 */
#ifndef SOAKER_H
#define SOAKER_H

struct soaker;

/*
 * Has a thread of the lowest priority (SCHED_IDLE) spin on that CPU; `*soaker`, NULL at
 * first, is made once and used again.  Returns 0, or an errno: EINVAL where the CPU is
 * offline or not allowed to us.
 */
int soaker_start(struct soaker **soaker, int cpu);

/*
 * Lets it rest.  Does not wait for that: on a busy CPU it may take long until such a
 * thread runs at all, but there it does no harm either.
 */
void soaker_stop(struct soaker *soaker);

#endif /* SOAKER_H */
