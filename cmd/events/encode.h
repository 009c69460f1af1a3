/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * encode.h - makes events of PMUs in sysfs, "cpu/event=0xc0/", of the events of event files.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <stdbool.h>
#include <stddef.h>

struct encoding {
	char pmu[64];	 /* "": of the core */
	char terms[512]; /* "event=0xc0,umask=0x1" */
	bool invalid;	 /* some value is invalid */
	char text[640];	 /* the result */
};

/* The value of a member of an event in the file; "": missing. */
typedef const char *encode_value_fn(void *object, const char *key);

/* Makes `text` from the members of an event.  False: this is not possible. */
bool encode(struct encoding *e, encode_value_fn *value_of, void *object);
/* Is it an unknown member, which can change what is counted? */
bool encode_is_unknown(const char *key, const char *value);

#endif /* ENCODE_H */
