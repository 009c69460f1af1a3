/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * import.h - makes event definitions from an event file.
 */
#ifndef IMPORT_H
#define IMPORT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

struct import {
	const char *file;
	const char *cpu;     /* from -C; NULL: the file names its CPU */
	const char *section; /* the name of the CPU in the definitions */
	FILE *out;
	size_t events, metrics; /* written */
	size_t skipped_events, skipped_metrics;
	size_t unknown;		     /* skipped because of an unknown member */
	char unknown_key[64];	     /* such a member */
	size_t doubled;		     /* skipped: another definition has the name */
	struct json_object *written; /* definitions of all files, by name and CPU */
	bool no_events;		     /* the file only describes groups of metrics */
};

/* Writes the definitions of the contents of a file.  Returns 0, or -1 after a message. */
int import_file(struct import *import, struct json_object *file);

#endif /* IMPORT_H */
