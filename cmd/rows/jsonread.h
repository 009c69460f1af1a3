/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonread.h - a strict reader of JSON Lines.
 *
 * It reports the first error with its line.  After an error, and for missing members, all
 * functions return 0, false, NULL or "".
 */
#ifndef JSONREAD_H
#define JSONREAD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jsonread {
	const char *path;
	FILE *file;
	json_tokener *tok;
	char *text; /* of the line */
	size_t size, line;
	bool failed;
};

/* False after a message. */
bool jsonread_open(struct jsonread *in, const char *path);
void jsonread_close(struct jsonread *in);

/* The object of the next line; release it by json_object_put().  NULL: end of file, or an error. */
json_object *jsonread_next(struct jsonread *in);

/* Reports an error of this line, unless one was reported before. */
__attribute__((format(printf, 2, 3))) void jsonread_bad(struct jsonread *in, const char *fmt, ...);

bool jsonread_has(json_object *object, const char *key);

/* The member `key`, of that type and range; else this is an error. */
const char *jsonread_text(struct jsonread *in, json_object *object, const char *key);
int64_t jsonread_int(struct jsonread *in, json_object *object, const char *key, int64_t min,
		     int64_t max);
double jsonread_real(struct jsonread *in, json_object *object, const char *key);
bool jsonread_flag(struct jsonread *in, json_object *object, const char *key);
int64_t jsonread_time(struct jsonread *in, json_object *object, const char *key);
json_object *jsonread_object(struct jsonread *in, json_object *object, const char *key);
/* An array with its length, at most `max`.  After an error, the length is 0. */
size_t jsonread_array(struct jsonread *in, json_object *object, const char *key, size_t max,
		      json_object **array);
/* A 64-bit count, which can be negative if `is_signed`.  False: null, unknown. */
bool jsonread_count(struct jsonread *in, json_object *object, const char *key, bool is_signed,
		    uint64_t *val);

/* `value` must be text. */
const char *jsonread_word(struct jsonread *in, json_object *value);

#endif /* JSONREAD_H */
