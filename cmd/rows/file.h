/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * file.h - files that output goes to, and when writing fails.
 */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *file;
	const char *path; /* as outfile_open() got it */
	bool named;	  /* `file` was opened by outfile_open() */
	bool append;
	char *replaced; /* the path of a file that each flush makes anew; or NULL */
	char *text;	/* of such a file, which `file` writes */
	size_t size;
	char *buffer; /* of `file`; NULL: its own */
};

/*
 * Opens `path`; NULL: the standard output.  /dev/stdout, /dev/stderr and /dev/fd/N are
 * duplicated, since others may write there, too.  0, or -1 after a message.
 */
int outfile_open(struct outfile *out, const char *path, bool append);
/* Would what is written to one path be in the other, too?  Either may be NULL, or new. */
bool outfile_same(const char *path, const char *other);
/*
 * Opens `path` so that others see it whole: what is written before a flush goes to a file
 * beside it, which then takes its place.  What is no regular file is opened as above.
 */
int outfile_open_replaced(struct outfile *out, const char *path);
/* What is written waits in a buffer of that size, before there is anything. */
void outfile_buffer(struct outfile *out, size_t size);
/* Output begins: truncates the file, unless it is to be appended to. */
void outfile_begin(const struct outfile *out);

/* Writes what is buffered.  0, or an errno: some output is lost. */
int outfile_flush(const struct outfile *out);

/* Flushes and closes; some file systems report errors only then.  0, or an errno. */
int outfile_close(const struct outfile *out);

/* Is the file read by others as it is written: a pipe, a socket or a terminal? */
bool outfile_has_reader(const struct outfile *out);

/* Whether such a reader has gone, without writing.  0, or the errno a write would have. */
int outfile_poll(const struct outfile *out);

#endif /* FILE_H */
