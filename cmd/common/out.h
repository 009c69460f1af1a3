/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * out.h - rows of samples, written as the Solaris tables.
 */
#ifndef OUT_H
#define OUT_H

#include "setgrp.h"

#include <stdio.h>

struct out {
	FILE *file;
	cpc_t *cpc;
	const struct setgrp *grp;
	bool cpus;   /* rows are of CPUs (cpustat), not of LWPs (cputrack) */
	bool pids;   /* with a column for the process */
	bool tids;   /* show LWPs by the kernel's thread ids */
	bool cycles; /* with a column for the cycles */
	bool named;  /* `file` was opened by out_open() */
};

#define ROW_ALL -1 /* all CPUs; shown as "all" */

enum row_data {
	ROW_BLANK,   /* the row has no counts: the columns stay blank */
	ROW_COUNTS,  /* `buf` has them */
	ROW_MISSING, /* the counts are not known: "-" */
};

struct row {
	int64_t time_ns; /* since the start of the run */
	pid_t pid;
	int id;	   /* the LWP, or the CPU, core, socket or node, or ROW_ALL */
	pid_t tid; /* the LWP's thread id */
	const char *event;
	enum row_data data;
	cpc_buf_t *buf;
	unsigned mean_of; /* divide the counts by this; 0: do not */
	size_t set;	  /* index in the group of the set that counted */
	bool incomplete;  /* a total without the counts of some LWP or CPU */
	const char *note; /* what follows the counters, or NULL; written escaped */
	bool quoted;	  /* put the note between quotes */
};

/*
 * Opens `path`; /dev/stdout, /dev/stderr and /dev/fd/N are duplicated, since others may
 * write there, too.  0, or -1 and errno.
 */
int out_open(struct out *out, const char *path);
/* The table begins: truncates the file. */
void out_begin(const struct out *out);

void out_header(const struct out *out);
void out_row(const struct out *out, const struct row *row);

/* Writes what is buffered.  0, or an errno: some output is lost. */
int out_flush(const struct out *out);

/* Flushes and closes; some file systems report errors only then.  0, or an errno. */
int out_close(const struct out *out);

/* Is the table read by others as it is written: a pipe, a socket or a terminal? */
bool out_has_reader(const struct out *out);

/* Whether such a reader has gone, without writing.  0, or the errno a write would have. */
int out_poll(const struct out *out);

/* Reports why output failed; nothing for EPIPE, which is how a reader ends a pipeline. */
void out_tell(int error);

#endif /* OUT_H */
