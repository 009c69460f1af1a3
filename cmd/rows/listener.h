/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * listener.h - serves documents to readers that ask for them, between samples.
 *
 * There are no threads: the program waits for `fd` with its other events, and then calls tend.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "readers.h"

#include <stdio.h>

struct document_request {
	const char *reader;	/* the client's address and program; NULL: none will ask again */
	const void *connection; /* not NULL */
	bool openmetrics;	/* wanted rather than the text format 0.0.4 */
};

struct document_ops {
	/* Writes a document. */
	struct reading (*write)(void *arg, FILE *file, const struct document_request *request);
	/* The whole document was sent. */
	void (*sent)(void *arg, const struct reading *reading);
	/* A connection was closed. */
	void (*hung_up)(void *arg, const void *connection);
};

struct listener {
	/* Where the documents come from. */
	const struct document_ops *document;
	void *arg;
	int fd; /* readable if there is something to do */
	/* Answers requests.  Returns in how many ms to call it again at the latest; 0: no need. */
	unsigned (*tend)(struct listener *listener);
	/* Closes all connections, and frees it. */
	void (*close)(struct listener *listener);
};

#endif /* LISTENER_H */
