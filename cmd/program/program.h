/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * program.h - the common part of cputrack and cpustat: options, start and end.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../base/opts.h"
#include "../base/setgrp.h"
#include "../rows/output.h"
#include "split.h"

#include <libcpc.h>
#include <stdbool.h>
#include <stdio.h>

/* Codes of long options without a letter; a program's own begin at OPT_OWN. */
enum {
	OPT_APPEND = 256,
	OPT_FORMAT,
	OPT_NAMES,
	OPT_BY,
	OPT_CHANGED,
	OPT_DELAY,
	OPT_FOR,
	OPT_HUMAN,
	OPT_RATE,
	OPT_CHECK,
	OPT_SPLIT,
	OPT_OWN
};

/* Common options of output. */
/* clang-format off */
#define OUTPUT_OPTS \
	{OPT_CHECK, "check", NULL, "list what can be counted here, and the reasons", ALWAYS}, \
	{'o', "output", "FILE", "write to FILE", ALWAYS}, \
	{OPT_APPEND, "append", NULL, "with -o and -O: append to the files", ALWAYS}, \
	{OPT_FORMAT, "format", "FORMAT", "table, csv, json, openmetrics or trace", ALWAYS}, \
	{OPT_BY, "by", "WHAT", "a sorted summary by command, service, ...", ALWAYS}, \
	{OPT_CHANGED, "changed", NULL, "omit rows of samples that counted nothing", ALWAYS}, \
	{OPT_HUMAN, "human", NULL, "tables with counts as 12.3M, 1.50ms", ALWAYS}, \
	{OPT_RATE, "rate", NULL, "tables with counts per second", ALWAYS}, \
	{OPT_NAMES, "names", NULL, "tables with a column for each event name", ALWAYS}, \
	{'O', "record", "FILE", "also write a record to FILE", TO_COUNT}, \
	{'I', "replay", "FILE", "show a record instead of counting", ALWAYS}

#define SPAN_OPTS \
	{OPT_SPLIT, "split", NULL, "events that do not fit together take turns", TO_COUNT}, \
	{OPT_DELAY, "delay", "SECS", "start counting after SECS", TO_COUNT}, \
	{OPT_FOR, "for", "SECS", "stop counting after SECS", TO_COUNT}

/* Options of perf stat and top that have other names here. */
#define FOREIGN_OPTS \
	{"x", "--format=csv separates columns by commas"}, \
	{"csv", "--format=csv does that"}, \
	{"j", "--format=json does that"}, \
	{"json", "--format=json does that"}, \
	{"timeout", "--for=SECS stops counting"}, \
	{"sort", "--by=WHAT sorts by the first event of -c"}, \
	{"detailed", "-c adds events, and -D describes them"}, \
	{"M", "-c counts ratios, too, such as -c ipc"}, \
	{"metrics", "-c counts ratios, too, such as -c ipc"}, \
	{"B", "--human shortens large counts"}, \
	{"big-num", "--human shortens large counts"}, \
	{"log-fd", "-o /dev/fd/N writes to a file descriptor"}, \
	{"quiet", "-o FILE writes the counts to a file"}
/* clang-format on */

/* The values of the common options. */
struct options {
	char **argv;	   /* the whole command line */
	const char **spec; /* one per -c */
	size_t nspecs;
	bool by_default; /* there was no -c: `spec` has default events */
	bool split;	 /* events of a spec can take turns */
	bool debug, help, version, check;
	struct output_config output;
	const char *replay; /* NULL: count */
};

/* A program.  Its functions get the `config` of program_main(). */
struct program {
	const char *name;
	const char *has;	/* features to print after the version; or NULL */
	bool of_cpus;		/* it counts CPUs, not LWPs */
	const struct opt *opts; /* ends with a zero code */
	const struct foreign_opt *foreign;
	void (*print_usage)(FILE *f);
	/* Parses an option of this program; optarg is its argument. */
	int (*parse_option)(void *config, int c);
	/* Checks the combination of the options of output, and completes it; or NULL. */
	int (*check_output)(void *config);
	/* Parses the arguments after the options, and checks the whole command line. */
	int (*parse_operands)(void *config, int n, char **arg);
	int (*count)(void *config, cpc_t *cpc);
};

/* Parses the command line and runs the program.  Returns the exit status. */
int program_main(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv);

/* Parses the seconds of an option, at least a millisecond.  Returns the exit status. */
int parse_span(const char *opt, const char *text, int64_t *ns);

/* Reports an invalid command line.  Returns STATUS_USAGE. */
int usage_error(const char *message);

/*
 * Makes a set for each -c, or several if --split is given and `trial` requires it.  Returns
 * STATUS_OK, or the exit status after a message.
 */
int program_sets(struct options *options, cpc_t *cpc, struct setgrp *grp,
		 const struct split_trial *trial);

/* Ends the program by a signal, so that its exit status shows the signal. */
void die_of(int sig);

#endif /* PROGRAM_H */
