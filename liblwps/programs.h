/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.h - load and attach the BPF programs of count.bpf.c; helpers for all BPF programs.
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

/* Read and set a variable that is shared with the kernel. */
#define load(variable) __atomic_load_n(&(variable), __ATOMIC_ACQUIRE)
#define store(variable, value) __atomic_store_n(&(variable), value, __ATOMIC_RELEASE)

/* Load the programs and maps of count.bpf.c.  -1: errno. */
int programs_load(struct count *skel, const struct lwps_config *config);

/* Attach to their tracepoints the programs that this kernel and run need.  -1: errno. */
int programs_attach(struct count *skel);

/* Attach a program to all places of the functions, in their order.  -1: errno. */
int programs_add_functions(const struct count *skel, const struct lwps_config *config, int *link);

/*
 * Call `loader`, and retry on EAGAIN: the verifier gives up when a signal is pending.  Signals are
 * blocked meanwhile, but SIGSTOP cannot be.  -1: errno.
 */
int programs_try(int (*loader)(void *skel), void *skel);

/*
 * Run a program with one argument on a CPU; -1: on the current one.  Returns the program's result;
 * -1: errno.
 */
int programs_run(int program, uint64_t argument, int cpu);

static inline bool programs_counts(const struct lwps_column *column, unsigned ncolumns,
				   enum lwps_kind kind)
{
	while (ncolumns > 0 && column[ncolumns - 1].kind != kind)
		ncolumns--;
	return ncolumns > 0;
}

/* Is this process in the PID namespace that has all tasks? */
bool programs_in_first_namespace(void);

/* Let the kernel call the linked iterator program for each object.  -1: errno. */
int programs_iterate(int link);

/* Does a column of this kind have a perf event on each CPU? */
static inline bool programs_has_event(enum lwps_kind kind)
{
	return kind == LWPS_CPU || kind == LWPS_SOFTWARE;
}

/*
 * Add the perf events of all columns and CPUs to the map `events`.  The ids of those of kind
 * LWPS_SOFTWARE are stored in `start`, for find_events() in the kernel: an array by column; the
 * next CPU's is `stride` bytes behind it.  -1: errno.
 */
int programs_add_events(int events, struct lwps_start *start, size_t stride,
			const struct lwps_column *column, unsigned ncolumns, unsigned ncpus);

/* Could the event of a column not be read? */
static inline bool programs_lost(const struct lwps_start *start, enum lwps_kind kind)
{
	return programs_has_event(kind) && load(start->reading) == LWPS_LOST;
}

/*
 * Add the events of a CPU that have an `fd`, by column, or remove the old ones of the same columns.
 * -1: errno.
 */
int programs_change_events(int events, struct lwps_start *start, const __u8 *kind,
			   unsigned ncolumns, unsigned ncpus, unsigned cpu, const int *fd,
			   bool removes);

/*
 * Find the offset in a css_set of the pointer to a task's cgroup, or to the state of a v1
 * controller, in bytes.  -1: errno.
 */
int programs_find_cgroup(enum lwps_hierarchy hierarchy, __u64 *offset);

/* Read `n` totals of a slot, all of the same moment. */
void programs_read(const struct lwps_head *head, const __u64 *total, unsigned n, uint64_t *values);

/* Detach on_sched_exit() once this kernel turns out not to need it. */
void programs_drop_sched_exit(int *link, const __u32 *saw_init_switch, const __u64 *repaired);

/* Look up a key in a map, and copy its value.  -1: errno. */
int programs_lookup(int map, const void *key, void *value);

/* Map an array that user space and the kernel share, with entries of `size` bytes.  NULL: errno. */
void *programs_map(const struct bpf_map_desc *array, size_t size);
void programs_unmap(void *memory, const struct bpf_map_desc *array, size_t size); /* or NULL */

/* `n` is 2 or more. */
unsigned programs_round_up_pow2(size_t n);

/* Can a CPU see stores of another CPU out of order? */
bool programs_weak_order(void);

/* Does a column count calls of a function? */
bool programs_count_functions(const struct lwps_config *config);

/* Is this Linux major.minor or later? */
bool programs_linux_is(unsigned major, unsigned minor);

/* Write a phrase to `why` that explains errno, after `what` failed.  Keeps errno. */
void programs_explain(char *why, size_t size, const char *what);

/* How often the kernel has skipped a program, because it was preempted in another task. */
uint64_t programs_skips(const struct bpf_prog_desc *program);

#endif /* PROGRAMS_H */
