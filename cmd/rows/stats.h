/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.h - means of each event over several runs of a command, or of two (-r, --compare).
 */
#ifndef STATS_H
#define STATS_H

#include "format.h"

struct outfile;
struct output_config;

/* The limit of the growth of events (--fail-above), and the result. */
struct limit {
	bool given;
	double part;  /* of the old mean: 0.03 is 3 % */
	bool above;   /* some event grew by more */
	bool unknown; /* some event has no verdict */
	bool failed;  /* a run in a record failed */
};

/* How the runs of a command ended. */
struct ends {
	unsigned n, failed;
	int wstatus;  /* of the first run that failed */
	bool differs; /* some run failed in another way */
};

void ends_note(struct ends *ends, int wstatus);
/* Reports runs that failed; `whose`: the subject, such as "the command 'x'".  False: none did. */
bool ends_report(const struct ends *ends, const char *whose);

/* Parses a number of per cent, such as "3%" or "0.5".  False after a message. */
bool limit_parse(struct limit *limit, const char *text);

/* Returns `status`; if it is STATUS_OK, the exit status of the limit. */
int limit_status(const struct limit *limit, int status);

/*
 * Adds up each run, and writes the means of all runs when the sink is freed.  Returns NULL after a
 * message: the file to compare with is not a record.
 */
struct sink *stats_open(struct outfile *out, FILE *file, const struct format *format,
			const struct style *style, const struct output_config *config);

/* Why the runs of a record cannot be compared in this way; NULL: they can. */
const char *stats_obstacle(const struct run *run, bool pair);

#endif /* STATS_H */
