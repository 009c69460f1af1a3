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
	bool pids;   /* LWPs: with a column for the process */
	bool tids;   /* LWPs: by the kernel's thread ids */
	bool cycles; /* with a column for the cycles */
	bool named;  /* `file` was opened by out_open() */
};

#define ROW_ALL -1 /* all CPUs; shown as "all" */

enum row_data {
	ROW_BLANK,   /* a row without counts */
	ROW_COUNTS,  /* `buf` has them */
	ROW_MISSING, /* there should be counts, but there are none */
};

struct row {
	int64_t time_ns; /* since the start of the run */
	pid_t pid;
	int id;	   /* the LWP, or the CPU, or what CPUs are counted together: ROW_ALL */
	pid_t tid; /* the LWP's thread id */
	const char *event;
	enum row_data data;
	cpc_buf_t *buf;
	unsigned mean_of; /* show the mean of so many; 0: the counts */
	size_t set;	  /* which set of the group counted */
	bool incomplete;  /* a total that lacks somebody's counts */
	const char *note; /* what follows the counters, or NULL */
};

/*
 * Opens `path`, or, for /dev/stdout, /dev/stderr and /dev/fd/N, shares what is open there
 * with the others that write to it.  0, or -1 and errno.
 */
int out_open(struct out *out, const char *path);
/* The table begins: what was in the file before goes. */
void out_begin(const struct out *out);

void out_header(const struct out *out);
void out_row(const struct out *out, const struct row *row);

/* Writes what is buffered.  0, or an errno: output is lost from there on. */
int out_flush(const struct out *out);

/* The last of it: delayed errors show when a file is closed.  0, or an errno. */
int out_close(const struct out *out);

/* Says why output failed; that the reader of a pipe has gone is no news. */
void out_tell(int error);

#endif /* OUT_H */
