/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outfile.h - an output file.
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct replace;

struct outfile {
	FILE *file;
	const char *path; /* the argument of outfile_open() */
	bool named;	  /* `path` names a file, not a standard stream or a descriptor */
	bool append;
	struct replace *replaced; /* a file that each flush replaces; or NULL */
	char *text;		  /* the next contents of that file */
	size_t size;
	char *buffer; /* the buffer of `file`; NULL: allocated by stdio */
	int error;    /* of the first flush of `file` that failed */
};

/*
 * Opens `path`; NULL: the standard output.  For /dev/stdout, /dev/stderr and /dev/fd/N it
 * duplicates the descriptor, to share its offset with other writers.  A regular file is locked: it
 * has one writer.  Returns 0, or -1 after a message.
 */
int outfile_open(struct outfile *out, const char *path, bool append);
/*
 * Opens the standard output for rows alone: the programs that are started from now on have the
 * standard error output as theirs.  Returns 0, or -1 after a message.
 */
int outfile_open_apart(struct outfile *out);
/* Are both paths the same file?  Either can be NULL or missing. */
bool outfile_same(const char *path, const char *other);
/*
 * As outfile_open(), but each flush replaces a regular file at once: see ../base/replace.h.
 */
int outfile_open_replaced(struct outfile *out, const char *path);
/* Sets the size of the buffer.  Call it before the first output. */
void outfile_buffer(struct outfile *out, size_t size);
/* Truncates the file, unless it is opened to append. */
void outfile_begin(const struct outfile *out);

/* Writes the buffer.  Returns 0, or an errno: some output is lost. */
int outfile_flush(struct outfile *out);

/*
 * Opens the file that `path` names now, if it is another one: a program has renamed ours.  Returns
 * its descriptor, for outfile_change(), or -1: it is the same file, or after a message.
 */
int outfile_next(const struct outfile *out);
/* What is written from now on goes to `fd`, which it closes.  Call outfile_flush() before. */
void outfile_change(struct outfile *out, int fd);
/* Is it a regular file that outfile_next() can open again? */
bool outfile_is_regular(const struct outfile *out);

/* Flushes and closes; some file systems report errors only then.  Returns 0, or an errno. */
int outfile_close(struct outfile *out);

/* Is the file a pipe, a socket or a terminal? */
bool outfile_has_reader(const struct outfile *out);

/* Has the reader of such a file gone?  Returns 0, or the errno that a write would get. */
int outfile_poll(const struct outfile *out);

#endif /* OUTFILE_H */
