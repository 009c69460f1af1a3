/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * limit.h - by how much events may grow (--fail-above), and whether they did.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct limit {
	bool given;
	double part;   /* of the old mean: 0.03 is 3 % */
	bool above;    /* some event grew by more */
	bool unknown;  /* some event has no verdict */
	size_t nnotes; /* messages for the end */
	char **note;
};

/* Parses a number of per cent, such as "3%" or "0.5".  False after a message. */
bool limit_parse(struct limit *limit, const char *text);

/* Adds a message, which limit_status() prints and frees. */
void limit_note(struct limit *limit, char *note);

/* Prints the messages.  Returns `status`, or if that is STATUS_OK the result of the limit. */
int limit_status(struct limit *limit, int status);

#endif /* LIMIT_H */
