/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * busy.h - the event busy-time: how long each CPU ran anything but its idle task.
 */
#ifndef BUSY_H
#define BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct busy;

/* Begins to count, on all CPUs.  NULL: see `why`. */
struct busy *busy_open(char *why, size_t size);
void busy_close(struct busy *busy);
/*
 * Reads the time since busy_open(), in nanoseconds.  Sets `*incomplete` if the kernel has not
 * reported a switch since the last call.  -1: errno; ENXIO: the CPU is offline.
 */
int busy_read(struct busy *busy, int cpu, uint64_t *ns, bool *incomplete);

#endif /* BUSY_H */
