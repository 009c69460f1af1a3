/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * aggregate.h - a filter before a writer: one row per core, socket or node, or one for all CPUs,
 * replaces the rows of single CPUs (-A); CPUs can be left out (--cpus).
 */
#ifndef AGGREGATE_H
#define AGGREGATE_H

#include "sink.h"

/* The CPUs of a core, a socket, ... */
struct cpu_group {
	int id; /* 0 for SCOPE_ALL */
	unsigned ncpus;
};

struct cpu_groups {
	size_t n;
	struct cpu_group *group; /* sorted by id */
	size_t *of;		 /* by CPU: the index of its group */
};

struct cpu_groups cpu_groups_find(enum cpu_scope scope, const struct run_cpu *cpu, size_t ncpus);
void cpu_groups_free(struct cpu_groups *groups);

/* Is `text` a list of CPUs as taskset(1) takes it, such as 0,2-5? */
bool aggregate_is_cpu_list(const char *text);

/* `next` is freed with this sink.  `cpus`: a list of CPUs; NULL: all. */
struct sink *aggregate_open(struct sink *next, enum cpu_scope scope, const char *cpus);

#endif /* AGGREGATE_H */
