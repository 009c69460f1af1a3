/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * output.h - where a run is told to: the writer of a format, with filters before it, and a
 * record beside it.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "format.h"

/* What the command line says. */
struct output_config {
	const char *path;	     /* NULL: the standard output */
	bool append;		     /* keep what is in the file */
	const char *record;	     /* write a record there, too; or NULL */
	const struct format *format; /* NULL: tables */
	struct style style;
	enum row_unit unit;  /* CPUs are put together to these */
	enum row_by by;	     /* a summary, and not the rows; the record has those */
	bool stats;	     /* of all runs, and not the rows: mean and deviation */
	const char *compare; /* with the runs of this record; or NULL */
	bool total;	     /* a last row for all processes */
	bool changed;	     /* no rows of samples in which nothing was counted */
	const char *cpus;    /* only these; NULL: all */
	bool by_line;	     /* a terminal gets each row at once, and not with output_flush() */
};

struct output;

/* Opens the files; `style.names` and `.terminal` are set for a terminal.  NULL after a message. */
struct output *output_open(const struct output_config *config);

/* Tell the run: see sink.h.  The files are emptied when it begins. */
struct sink *output_sink(struct output *output);

/* Are names of LWPs wanted by anybody? */
bool output_wants_comm(const struct output *output);

/* Writes what is buffered.  0, or an errno: some output is lost. */
int output_flush(struct output *output);

/* Is the output read by others as it is written? */
bool output_has_reader(const struct output *output);

/* Whether such a reader has gone, without writing.  0, or the errno a write would have. */
int output_poll(struct output *output);

/* Flushes and closes all.  0, or an errno: some output is lost, which `tell` reports as below. */
int output_close(struct output *output, bool tell);

/*
 * Reports why output_flush() or output_poll() failed; nothing for EPIPE, which is how a reader
 * ends a pipeline.
 */
void output_tell(const struct output *output, int error);

#endif /* OUTPUT_H */
