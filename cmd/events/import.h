/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * import.h - event files of vendors as event definitions.
 */
#ifndef IMPORT_H
#define IMPORT_H

#include "standard.h"

#include <stdio.h>

struct import {
	const char *file;
	const char *cpu;     /* whom it is for; NULL: the file says it */
	const char *section; /* as it is written */
	FILE *out;
	const struct standard *standard; /* what it may refer to; NULL: nothing */
	/* What was found in it; of the events that were skipped, some refer to what is not there.
	 */
	size_t events, metrics, skipped_events, skipped_metrics, unresolved;
	size_t unknown, doubled;     /* of those that were skipped... */
	char unknown_key[64];	     /* ...because of this member */
	struct json_object *written; /* by name and CPU: what was, of all files */
	bool no_events;		     /* it only has words about groups of metrics */
};

/* Writes the definitions of a file.  Returns 0, or -1 after a message. */
int import_file(struct import *import);

#endif /* IMPORT_H */
