/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * units.h - rows of CPUs become rows of cores, sockets, nodes or one of all; CPUs that are
 * not wanted are left out.
 */
#ifndef UNITS_H
#define UNITS_H

#include "sink.h"

/* CPUs that form a unit together. */
struct unit {
	int id; /* its number; of all CPUs 0 */
	unsigned ncpus;
};

struct units {
	size_t n;
	struct unit *unit; /* ascending */
	size_t *of;	   /* index of the unit of each CPU */
};

struct units units_find(enum row_unit kind, const struct run_cpu *cpu, size_t ncpus);
void units_free(struct units *units);

/* Is it a list of CPUs, as of taskset(1)? */
bool units_is_list(const char *text);

/* A sink that passes on to `next`, which it frees, too.  `cpus`: a list; or NULL: all. */
struct sink *units_open(struct sink *next, enum row_unit kind, const char *cpus);

#endif /* UNITS_H */
