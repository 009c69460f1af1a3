/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.h - the programs of count.bpf.c, in the kernel; what all programs have in common.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "lwps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

/* bpftool generates it with these warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "bpf/cgroups.skel.h"
#include "bpf/count.skel.h"
#include "bpf/divide.skel.h"
#include <bpf/skel_internal.h>
#pragma GCC diagnostic pop

/* Load them, with the maps that they share.  NULL: errno. */
struct count *programs_load(const struct lwps_config *config);

/* Attach those that are needed to their tracepoints.  -1: errno. */
int programs_attach(struct count *skel);

/* Attach a program to the functions of the columns; `link` by column.  -1: errno. */
int programs_add_functions(const struct count *skel, const struct lwps_config *config, int *link);

/* How often the kernel has skipped a program without a repair by another one. */
uint64_t programs_skipped(const struct count *skel);

void programs_unload(struct count *skel);

/*
 * Call `make` with all signals blocked until it returns programs, or NULL with another errno than
 * EAGAIN: the verifier gives up when a signal is pending, and SIGKILL and SIGSTOP cannot be
 * blocked.
 */
void *programs_try(void *(*make)(const void *config), const void *config);

/*
 * Run a program with one argument on a CPU; -1: on the current one.  Returns what it returned; -1:
 * errno.
 */
int programs_run(int program, uint64_t argument, int cpu);

/* Add the perf events of each CPU to the map `events`.  -1: errno. */
int programs_add_events(int events, const struct lwps_column *column, unsigned ncolumns,
			unsigned ncpus);

/*
 * Where a css_set of this kernel has the pointer to a task's cgroup, or to its controller's state,
 * in bytes.  -1: errno.
 */
int programs_cgroup_offset(enum lwps_hierarchy hierarchy);

/* Copy the value of a key of a map.  -1: errno. */
int programs_lookup(int map, const void *key, void *value);

/* Map an array that user space and the kernel share.  NULL: errno. */
void *programs_map(int array, size_t size);

/* Of two or more. */
unsigned programs_round_up_pow2(size_t n);

/* Can a CPU see stores of another CPU out of order? */
bool programs_weak_order(void);

/* How often the kernel has skipped a program, because it was preempted in another task. */
uint64_t programs_skips(const struct bpf_prog_desc *program);

#endif /* PROGRAMS_H */
