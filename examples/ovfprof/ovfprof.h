/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
#ifndef OVFPROF_H
#define OVFPROF_H

#include "profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- objects.c ---------------------------------------------------------------------- */

/* A mapping of a process from `time` on. */
struct maps {
	size_t n;
	struct map {
		uint64_t time, start, end, offset;
		char *path;
	} * map;
};

struct function {
	char object[128];
	char name[256]; /* or its address in the object, if it has no symbol */
	bool stripped;	/* the object has no symbol table, and no debug file was found */
};

void read_maps(const char *path, struct maps *maps);
void free_maps(struct maps *maps);
void find_function(const struct maps *maps, uint64_t time, uint64_t pc, struct function *fn);
/* The return address of the function of a sample; 0: unknown. */
uint64_t find_caller(const struct maps *maps, const struct slot *slot);
void free_objects(void);

/* ---- report.c ------------------------------------------------------------------------ */

struct options {
	const char *event, *output;
	uint64_t period;
	bool per_lwp, callers, system;
	double least; /* percent of the shown samples */
};

/* Prints what the processes left in `dir`; returns the number of LWPs. */
size_t report(const char *dir, const struct options *options, FILE *out);

#endif /* OVFPROF_H */
