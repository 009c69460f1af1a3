/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * soaker.h - threads that keep CPUs from idling.
 */
#ifndef SOAKER_H
#define SOAKER_H

#include <stddef.h>

struct soaker;

/*
 * Starts a spinning thread of the lowest priority (SCHED_IDLE) on each of the
 * CPUs.  NULL and errno when that is not possible.
 */
struct soaker *soaker_start(const int *cpu, size_t n);
void soaker_stop(struct soaker *soaker);

#endif /* SOAKER_H */
