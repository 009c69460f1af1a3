/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * filters.h - sinks that change the rows of a run before they pass it to `next`, which is freed
 * with them.  None of these functions returns NULL.
 */
#ifndef FILTERS_H
#define FILTERS_H

#include "sink.h"

/*
 * Replaces the rows of single CPUs by a row per core, socket, node or kind, or by one for all (-A).
 * `cpus`: a list of the CPUs to show (--cpus), some of which the run must have; NULL: all.
 */
struct sink *aggregate_open(struct sink *next, enum scope scope, const char *cpus);
/* Does the run have some of these CPUs? */
bool aggregate_finds(const struct run *run, const char *cpus);

/* The CPUs of a core, a socket, ... */
struct cpu_group {
	int id; /* 0 for SCOPE_ALL */
	unsigned ncpus;
	const char *pmu; /* of its first CPU; "": none */
};

struct cpu_groups {
	size_t n;
	struct cpu_group *group; /* sorted by id */
	size_t *of;		 /* by CPU: the index of its group */
};

struct cpu_groups cpu_groups_find(enum scope scope, const struct run_cpu *cpu, size_t ncpus);
void cpu_groups_free(struct cpu_groups *groups);

/* Omits rows of samples whose counts are all 0 (--changed). */
struct sink *changed_open(struct sink *next);

/* Appends a ROW_TOTAL per set to a run of LWPs: the sum over all processes (--total). */
struct sink *total_open(struct sink *next);

/*
 * Passes on rows of the `n` largest keys in each sample, and of (idle), (kernel) and (none).  Adds
 * up the rows of all other keys in (others) (--keys).  Rows without keys pass.  `next` is the
 * writer.
 */
struct sink *largest_open(struct sink *next, unsigned n);

/*
 * Replaces the rows of a run by a summary at its end (--by): a ROW_SUM for each set of each LWP,
 * process, command or CPU, sorted by the first event, largest first, and then a ROW_TOTAL for each
 * set.  A sum is incomplete if a row is missing or incomplete.  `nkeys` > 0: sums of the `nkeys`
 * largest keys, and one of all other keys.
 */
struct sink *summary_open(struct sink *next, enum scope by, unsigned nkeys);

/*
 * Of a summary, replaces the rows of at least two objects whose counts are all 0 by one row, which
 * says how many there are, such as "12 idle threads".  `cycles`: rows with cycles count something.
 */
struct sink *folded_open(struct sink *next, bool cycles);

/*
 * Passes on a summary of each interval of a run of LWPs, and then one of the whole run.  `blocks`:
 * each summary is a run of its own.  Else the summaries of intervals are tick rows of the run.
 */
struct sink *intervals_open(struct sink *next, enum scope by, bool blocks);

#endif /* FILTERS_H */
