/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replay.h - reads a record (--format json, -O) and passes its runs to a sink.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "sink.h"

#include <stdio.h>

/* Why this run cannot be shown, to be freed; NULL: it can. */
typedef char *replay_check(void *arg, const struct run *run);

struct replay_config {
	const char *path; /* "-": the standard input */
	const char *tool; /* the program that must have written the record */
	replay_check *check;
	void *arg;
	/* Called after each sample; or NULL.  False: stop. */
	bool (*flush)(void *arg);
};

/* False after a message with the line: the file is not a record, or its end is missing. */
bool replay(const struct replay_config *config, struct sink *sink);

#endif /* REPLAY_H */
