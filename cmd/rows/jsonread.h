/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonread.h - JSON Lines, read strictly.  The first error is reported with its line, and
 * what is asked for after it, or is not there, is 0, false or "".
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
	char *text; /* the line */
	size_t size, line;
	bool failed;
};

/* False after a message. */
bool jsonread_open(struct jsonread *in, const char *path);
void jsonread_close(struct jsonread *in);

/* The object of the next line, to be put; NULL: the file ends, or an error. */
json_object *jsonread_next(struct jsonread *in);

/* Reports an error of the line, if it is the first. */
__attribute__((format(printf, 2, 3))) void jsonread_bad(struct jsonread *in, const char *fmt, ...);

/* What `object`, which must have `key`, has there. */
bool jsonread_has(json_object *object, const char *key);
const char *jsonread_text(struct jsonread *in, json_object *object, const char *key);
int64_t jsonread_int(struct jsonread *in, json_object *object, const char *key, int64_t min,
		     int64_t max);
double jsonread_real(struct jsonread *in, json_object *object, const char *key);
bool jsonread_flag(struct jsonread *in, json_object *object, const char *key);
int64_t jsonread_time(struct jsonread *in, json_object *object, const char *key);
json_object *jsonread_object(struct jsonread *in, json_object *object, const char *key);
json_object *jsonread_array(struct jsonread *in, json_object *object, const char *key, size_t max);
/* An exact count of 64 bits, negative if `is_signed`; false: null, it is not known. */
bool jsonread_count(struct jsonread *in, json_object *object, const char *key, bool is_signed,
		    uint64_t *val);

/* A value that is text. */
const char *jsonread_word(struct jsonread *in, json_object *value);
/* Of an array, or 0. */
size_t jsonread_length(json_object *array);

#endif /* JSONREAD_H */
