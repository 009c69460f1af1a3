/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.h - means of each event over several runs of a command, or of two (-r, --compare).
 */
#ifndef STATS_H
#define STATS_H

#include "format.h"
#include "limit.h"

struct stats_config {
	FILE *file;
	const struct format *format;
	struct style style;
	const char *compare; /* a record of cputrack, whose runs are the old ones; or NULL */
	bool pair;	     /* compare the runs of two commands */
	struct limit *limit; /* gets the result; or NULL */
};

/*
 * Adds up each run, and writes the means of all runs when the sink is freed.  Returns NULL after a
 * message: the file is not a record.
 */
struct sink *stats_open(const struct stats_config *config);

/*
 * Can the runs of a record be compared in this way?  False after a message; `path` and `where`
 * name the run.
 */
bool stats_check(const char *path, const char *where, const struct run *run, bool pair);

#endif /* STATS_H */
