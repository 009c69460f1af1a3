/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * backlog.h - output to a pipe, socket or terminal whose reader may pause.
 *
 * What the reader does not take at once stays in memory, so that no process waits for it.
 */
#ifndef BACKLOG_H
#define BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

struct backlog {
	int fd;	 /* the caller's */
	int own; /* another description of the same file, with O_NONBLOCK; -1: none */
	bool is_socket;
	char *text;	       /* the kept text begins at `first` and has `n` bytes */
	size_t first, n, size; /* `size`: of the memory */
	bool abandoned;	       /* the reader took nothing for long after a signal */
	int error;	       /* of the first write that failed; or 0 */
};

/* Has a signal asked the program to end?  Then waits end soon.  Without it, signals kill us. */
void backlog_on_signals(bool (*signalled)(void));

/* False: `fd` has no reader that could pause. */
bool backlog_open(struct backlog *b, int fd);
void backlog_close(struct backlog *b);

/*
 * Writes text, or keeps it.  If there is too much of it, waits for the reader.  All return 0, or
 * the errno of the first write that failed.
 */
int backlog_put(struct backlog *b, const char *text, size_t n);

/* Writes as much of the kept text as the reader takes. */
int backlog_push(struct backlog *b);

/*
 * Waits until all is written.  EINTR: the reader has taken nothing for long after a signal, or with
 * `soon` without one; the rest is kept.
 */
int backlog_wait(struct backlog *b, bool soon);

/* The number of lines that are kept. */
size_t backlog_lines(const struct backlog *b);

/* How often to call backlog_push() while text is kept. */
#define BACKLOG_MS 50

#endif /* BACKLOG_H */
