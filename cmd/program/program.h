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
#include "sched.h"
#include "split.h"
#include "trial.h"

#include <libcpc.h>
#include <stdbool.h>

/* Codes of long options without a letter; a program's own begin at OPT_OWN. */
enum { OPT_FLAG = OPT_LONG, OPT_FORMAT, OPT_HUMAN, OPT_LABEL, OPT_BY, OPT_DELAY, OPT_FOR, OPT_OWN };

/* Common options.  The first member of each struct config is a struct options, `common`. */
/* clang-format off */
#define COUNT_OPTS \
	{'c', "events", "SPEC", "count these events; several -c take turns", TO_COUNT, 0}, \
	{OPT_FLAG, "split", NULL, "events that do not fit together take turns", TO_COUNT, \
	 OPT_SETS(common.split)}, \
	{OPT_DELAY, "delay", "SECS", "start counting after SECS", TO_COUNT, 0}, \
	{OPT_FOR, "for", "SECS", "stop counting after SECS", TO_COUNT, 0}, \
	{OPT_FLAG, "top", NULL, "show each interval full-screen, sorted; h helps", TO_COUNT, \
	 OPT_SETS(common.top)}, \
	{'D', "debug", NULL, "describe events, name failed calls", TO_COUNT, OPT_SETS(common.debug)}

#define OUTPUT_OPTS \
	{'o', "output", "FILE", "write to FILE", ALWAYS, 0}, \
	{OPT_FLAG, "append", NULL, "with -o and -O: append to the files", ALWAYS, \
	 OPT_SETS(common.output.append)}, \
	{OPT_FORMAT, "format", "FORMAT", "table, csv, json, openmetrics or trace", ALWAYS, 0}, \
	{OPT_LABEL, "label", "NAME=VALUE", "a label of each sample of OpenMetrics", ALWAYS, 0}, \
	{OPT_BY, "by", "WHAT", "a sorted summary by command, service, ...", ALWAYS, 0}, \
	{OPT_FLAG, "changed", NULL, "omit rows of samples that counted nothing", FOR_ROWS, \
	 OPT_SETS(common.output.changed)}, \
	{OPT_HUMAN, "human", "[=yes|no]", "counts such as 12.3M, 1.50ms, or digits", FOR_TABLES, 0}, \
	{OPT_FLAG, "rate", NULL, "tables with counts per second", FOR_ROWS | FOR_TABLES, \
	 OPT_SETS(common.output.style.rate)}, \
	{OPT_FLAG, "names", NULL, "tables with a column for each event name", FOR_ROWS | FOR_TABLES, \
	 OPT_SETS(common.output.style.names)}, \
	{'n', "no-header", NULL, "omit the header", ALWAYS, \
	 OPT_SETS(common.output.style.no_header)}, \
	{'t', "cycles", NULL, "a column of CPU cycles", FOR_ROWS, \
	 OPT_SETS(common.output.style.cycles)}, \
	{'O', "record", "FILE", "also write a record to FILE", TO_COUNT, 0}, \
	{'I', "replay", "FILE", "show a record instead of counting", ALWAYS, 0}, \
	{OPT_FLAG, "check", NULL, "list what can be counted, how to enable more", ALWAYS, \
	 OPT_SETS(common.check)}, \
	{'h', "help", NULL, "this text, and what can be counted here", ALWAYS, \
	 OPT_SETS(common.help)}, \
	{'V', "version", NULL, "print the version", ALWAYS, OPT_SETS(common.version)}

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
	struct label *label;	      /* one per --label */
	bool by_default;	      /* there was no -c: `spec` has default events */
	char chosen[TRIAL_SPEC_SIZE]; /* these */
	bool split;		      /* events of a spec can take turns */
	bool top;		      /* rows are shown on a screen */
	bool debug, help, version, check;
	const struct opt *to_count, *for_rows, *for_tables; /* the first given of each use */
	struct output_config output;
};

/* A program.  Its functions get the `config` of program_main(). */
struct program {
	const char *name;
	const char *has;	/* features to print after the version; or NULL */
	bool of_cpus;		/* it counts CPUs, not LWPs */
	const struct opt *opts; /* ends with a zero code */
	const struct foreign_opt *foreign;
	const char *usage; /* the command lines */
	/* The scheduler's events that it counts: bits CPC_SCHED_BIT(). */
	unsigned (*sched_events)(void *config);
	/* The times that are counted without -c, separated by commas; NULL: none. */
	const char *(*default_times)(void *config);
	/* Parses an option of this program; optarg is its argument. */
	int (*parse_option)(void *config, int c);
	/* Checks the combination of the options of output, and completes it. */
	int (*check_output)(void *config);
	/* Parses the arguments after the options, and checks the whole command line. */
	int (*parse_operands)(void *config, int n, char **arg);
	int (*count)(void *config, cpc_t *cpc);
};

/* Parses the command line and runs the program.  Returns the exit status. */
int program_main(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv);

#define USEC 1000LL
#define MSEC 1000000LL

/* Parses seconds, at least a microsecond or millisecond.  `what`: the option or argument, for
 * messages.  Returns the exit status. */
int parse_span(const char *what, const char *text, int64_t least_ns, int64_t *ns);

/* Parses a number.  `what`: the option or argument, for messages.  Returns the exit status. */
int parse_count(const char *what, const char *text, unsigned min, unsigned max, unsigned *count);

/* Reports an invalid command line.  Returns STATUS_USAGE. */
__attribute__((format(printf, 1, 2))) int usage_error(const char *fmt, ...);

/* Chooses the default events for what `config` is to count. */
void program_choose(const struct program *prog, struct options *options, void *config, cpc_t *cpc);

/*
 * Makes a set for each -c, or several if --split is given and `trial` requires it.  Returns
 * STATUS_OK, or the exit status after a message.
 */
int program_sets(struct options *options, cpc_t *cpc, struct setgrp *grp,
		 const struct split_trial *trial);

/* Says on a terminal that counting ends by ^C, for a run that prints nothing until its end. */
void say_endless(bool has_end);

/* After SIGINT: ends the line in which the terminal shows ^C, so that rows stay aligned. */
void end_interrupted_line(int sig);

/* Says that counting ended before --delay was over. */
void say_delayed(int64_t delay_ns);

/* Ends the program by a signal, so that its exit status shows the signal. */
void die_of(int sig);

#endif /* PROGRAM_H */
