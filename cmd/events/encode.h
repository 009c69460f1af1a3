/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * encode.h - encodes the events of event files as events of PMUs in sysfs, "cpu/event=0xc0/".
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <json-c/json.h>
#include <stdbool.h>

struct encoding {
	char pmu[64];	 /* "": of the core */
	char terms[512]; /* "event=0xc0,umask=0x1" */
	bool invalid;	 /* some value is invalid */
	char text[640];	 /* the result */
};

/* Makes `text` from the members of an event.  False: this is not possible. */
bool encode(struct encoding *e, struct json_object *object);
/* Is it an unknown member, which can change what is counted? */
bool encode_is_unknown(const char *key, const char *value);

#endif /* ENCODE_H */
