/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replay.h - tells the runs of a record, as the format json writes it, to a sink.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "sink.h"

#include <stdio.h>

/* Whether a run can be told; false after a message. */
typedef bool replay_check(void *arg, const char *where, const struct run *run);

struct replay_config {
	const char *path; /* "-": the standard input */
	const char *tool; /* whose record it is to be */
	replay_check *check;
	void *arg;
	/* Writes what was told so far; called after each sample.  0, or an errno: stop. */
	int (*flush)(void *arg);
};

/* Returns false after a message with the line: it is no record, or a part of one only. */
bool replay(const struct replay_config *config, struct sink *sink);

#endif /* REPLAY_H */
