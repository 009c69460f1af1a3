/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * trial.h - binds events for a moment, to find out whether this user can count them here.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Why `n` events cannot be counted together in user mode, for an LWP or with `on_cpu` on a CPU;
 * NULL: they can.
 */
const char *trial_refusal(cpc_t *cpc, const char *const *event, size_t n, bool on_cpu);

/*
 * Writes a spec of `times`, unless it is NULL, and the default events that this user can count
 * together on this machine.  The first event is always in it; counting it can fail later.
 */
void trial_choose(cpc_t *cpc, bool on_cpu, const char *times, char *spec, size_t size);

#define TRIAL_SPEC_SIZE 128

#endif /* TRIAL_H */
