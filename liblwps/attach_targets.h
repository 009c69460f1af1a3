/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * attach_targets.h - the processes to attach to, as the programs see them.
 */
#ifndef ATTACH_TARGETS_H
#define ATTACH_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Add processes to the map of targets; it has room for LWPS_AT_ONCE.  -1: errno. */
int attach_targets_add(int map, const pid_t *pids, size_t n);

/* Remove them again; `found`: was an LWP of the process found? */
void attach_targets_take(int map, const pid_t *pids, size_t n, bool *found);

/* Run the iterator of this link over all tasks.  -1: errno. */
int attach_targets_walk(int link);

#endif /* ATTACH_TARGETS_H */
