/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * encode.h - the fields of an event file as an event of a PMU in sysfs.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <stdbool.h>
#include <stddef.h>

struct encoding {
	char pmu[64];	 /* "": the core's */
	char terms[512]; /* "event=0xc0,umask=0x1" */
	bool bad;	 /* a value cannot be understood */
	char text[640];	 /* all of it, once it is finished */
};

/* A member that is a field of the PMU as it is. */
struct encode_field {
	const char *key, *field;
	bool always; /* also if it is 0 */
};
extern const struct encode_field encode_fields[]; /* ends with a NULL key */

/* Adds a field by its value in the file, which may be "". */
void encode_put(struct encoding *e, const struct encode_field *field, const char *value);
/* The unit outside of the cores, by the name that the file gives it; "": none. */
void encode_unit(struct encoding *e, const char *unit);
/* The registers that an event needs beside its counter. */
void encode_msr(struct encoding *e, const char *index, const char *value);
/* Makes `text` of it all.  False: it cannot be counted so. */
bool encode_finish(struct encoding *e, const char *name);

#endif /* ENCODE_H */
