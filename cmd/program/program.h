/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * program.h - what cputrack and cpustat do alike: options, start and end.
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
	OPT_VERSION = 256,
	OPT_APPEND,
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

/* The options of output that both have. */
/* clang-format off */
#define OUTPUT_OPTS \
	{OPT_CHECK, "check", NULL, "what can be counted here, and why not more", ALWAYS}, \
	{'o', "output", "FILE", "write to FILE", ALWAYS}, \
	{OPT_APPEND, "append", NULL, "with -o and -O: keep what is there", ALWAYS}, \
	{OPT_FORMAT, "format", "FORMAT", "table, csv, json, openmetrics or trace", ALWAYS}, \
	{OPT_BY, "by", "WHAT", "a sorted summary by lwp, process, command, cpu", ALWAYS}, \
	{OPT_CHANGED, "changed", NULL, "no rows of samples that counted nothing", ALWAYS}, \
	{OPT_HUMAN, "human", NULL, "tables with counts as 12.3M, 1.50ms", ALWAYS}, \
	{OPT_RATE, "rate", NULL, "tables with counts per second", ALWAYS}, \
	{OPT_NAMES, "names", NULL, "tables with events under their names", ALWAYS}, \
	{'O', "record", "FILE", "write a record to FILE, too", TO_COUNT}, \
	{'I', "replay", "FILE", "show a record, and count nothing", ALWAYS}

#define SPAN_OPTS \
	{OPT_SPLIT, "split", NULL, "events that do not fit together take turns", TO_COUNT}, \
	{OPT_DELAY, "delay", "SECS", "count nothing for so long", TO_COUNT}, \
	{OPT_FOR, "for", "SECS", "end counting after so long", TO_COUNT}
/* clang-format on */

/* The options that both have: -c, --split, -n, -t, -D, -h, --version and those of output. */
struct common {
	char **argv;	   /* the whole command line */
	const char **spec; /* one per -c */
	size_t nspecs;
	bool by_default; /* there was none: events were chosen */
	bool split;	 /* events of a spec may take turns */
	bool debug, help, version, check;
	struct output_config output;
	const char *replay; /* NULL: count */
};

/* A program; its functions get the `config` that program_main() was given. */
struct program {
	const char *name;
	const char *has;	/* told with the version; or NULL */
	bool of_cpus;		/* it counts CPUs, not LWPs */
	const struct opt *opts; /* ends with a zero code */
	void (*print_usage)(FILE *f);
	/* Takes an option that is not one of struct common, with its argument in optarg. */
	int (*parse_option)(void *config, int c);
	/* Checks that the options of output fit together; or NULL. */
	int (*check_output)(const void *config);
	/* Takes what follows the options, and checks that all fits together. */
	int (*parse_operands)(void *config, int n, char **arg);
	int (*count)(void *config, cpc_t *cpc);
};

/* Parses the command line and does what it asks for.  Returns the exit status. */
int program_main(const struct program *prog, struct common *common, void *config, int argc,
		 char **argv);

/* Parses the seconds of an option, at least a millisecond.  Returns the exit status. */
int parse_span(const char *opt, const char *text, int64_t *ns);

/* A message about a wrong command line.  Returns STATUS_USAGE. */
int usage_error(const char *what);

/*
 * Makes a set of each -c; with --split several if `trial` says so.  Returns the exit status,
 * after a message if it is not 0.
 */
int program_sets(struct common *common, cpc_t *cpc, struct setgrp *grp,
		 const struct split_trial *trial);

/* Ends the program by a signal, so that a shell sees what ended it. */
void die_of(int sig);

#endif /* PROGRAM_H */
