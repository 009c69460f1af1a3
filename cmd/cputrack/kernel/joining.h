/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * joining.h - what is asked of the kernel to attach to processes.
 */
#ifndef JOINING_H
#define JOINING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Puts them into the map of those to be attached to, not more than it has room for.  -1: errno. */
int joining_add(int map, const pid_t *pids, size_t n);

/* Takes those that are there out again: was an LWP found of each? */
void joining_take(int map, const pid_t *pids, size_t n, bool *found);

/* Calls the program of a link to an iterator for all that there is.  -1: errno. */
int joining_walk(int link);

#endif /* JOINING_H */
