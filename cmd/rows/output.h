/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * output.h - the sink of a run: filters and the writer of a format, and a record beside them.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "format.h"
#include "stats.h"

/* Are tables for people?  HUMAN_AUTO: on a terminal. */
enum human { HUMAN_AUTO, HUMAN_YES, HUMAN_NO };

struct output_config {
	const char *path;	     /* NULL: the standard output */
	struct listener *listener;   /* serves the output instead; or NULL */
	bool append;		     /* do not truncate the files */
	bool apart;		     /* see outfile_open_apart(), for the standard output */
	const char *record;	     /* also write a record to this file; or NULL */
	const struct format *format; /* NULL: tables */
	struct style style;
	enum human human; /* decides style.human */
	enum scope
		scope; /* above SCOPE_CPU: a row per core, socket, node or kind, or for all CPUs */
	enum scope keys; /* of the rows, or the owners of LWPs; SCOPE_CPU, SCOPE_NONE: without */
	enum scope by;	 /* print a summary, not the rows; the record keeps the rows */
	bool intervals;	 /* with `by`: also print a summary of each interval */
	bool stats;	 /* print means and deviations over all runs, not the rows */
	const char *compare; /* compare these means with those of a record; or NULL */
	bool pair;	     /* compare the means of two commands */
	const char *replay;  /* the record that is shown; NULL: count */
	struct limit *limit; /* of the growth of means; receives the result; or NULL */
	bool total;	     /* append a total of all processes */
	bool changed;	     /* omit rows of samples that counted nothing */
	unsigned nkeys;	     /* keys with rows of their own; (others) has the rest; 0: all */
	const char *cpus;    /* only these CPUs; "all"; NULL: no choice */
	bool by_line;	     /* on a terminal, print each row at once instead of at a flush */
	bool keeps;	     /* keep rows in memory rather than wait for their reader */
};

struct output;

/*
 * Opens the files.  On a terminal, the columns are named after their events, not pic0, pic1, ...,
 * and counts are for people.  Returns NULL after a message.
 */
struct output *output_open(const struct output_config *config);

/* The sink for the run.  Files are truncated when the run begins. */
struct sink *output_sink(struct output *output);

/* Does some writer print the names of LWPs, or the cycles? */
bool output_needs_comm(const struct output *output);
bool output_needs_cycles(const struct output *output);

/*
 * Writes the buffers, without waiting for a reader if the output keeps rows.  Returns 0, or an
 * errno: some output is lost.
 */
int output_flush(struct output *output);

/* Does SIGHUP ask to open the files again, and not report that the terminal has gone? */
bool output_reopens(const struct output *output);

/*
 * Opens files that were renamed again by their names, between two rows: the old files are complete,
 * and new ones begin.  Returns 0, or an errno as output_flush().
 */
int output_reopen(struct output *output);

/* Are rows kept that their reader has not taken?  Then call output_flush() every BACKLOG_MS. */
bool output_is_behind(const struct output *output);

/*
 * To be called while the source waits: acts on the keys of a screen, offers kept messages to their
 * reader, and answers requests.  `*wait_ms`: when to call it again; 0: no need.
 */
enum screen_asks output_tend(const struct output *output, unsigned *wait_ms);

/* After SCREEN_UNIT: the unit by which to count. */
enum scope output_unit(const struct output *output);
/* A descriptor to wait for: if it is readable, call output_tend().  -1: nothing to wait for. */
int output_fd(const struct output *output);

/* Stops the program by SIGSTOP, with the terminal as it was before. */
void output_stop(const struct output *output);

/* Is the output a pipe, a socket or a terminal? */
bool output_has_reader(const struct output *output);

/* Has the reader of a pipe or terminal gone?  Returns 0, or the errno that a write would get. */
int output_poll(struct output *output);

/*
 * Waits for the readers of kept rows, and closes all files.  Returns 0, or an errno: some output is
 * lost; EINTR: a signal ended a wait, and a message says what is missing.  With `report`, a message
 * reports other errors as output_report() does.
 */
int output_close(struct output *output, bool report);

/*
 * Prints a message that output_flush() or output_poll() failed.  Not for EPIPE, by which readers
 * end pipelines.
 */
void output_report(const struct output *output, int error);
/* Likewise, and EPIPE, too. */
void output_report_any(const struct output *output, int error);

#endif /* OUTPUT_H */
