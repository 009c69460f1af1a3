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

/* The value of a member of an event in the file; "": it has none. */
typedef const char *encode_value_fn(void *object, const char *key);

/* Makes `text` of the members of an event.  False: it cannot be counted so. */
bool encode(struct encoding *e, encode_value_fn *value_of, void *object);
/* Is it a member whose value changes what is counted in a way that is not known here? */
bool encode_is_unknown(const char *key, const char *value);

#endif /* ENCODE_H */
