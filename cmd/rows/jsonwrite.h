/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonwrite.h - JSON, made by json-c and written as ASCII.  All calls die when there is no
 * memory.  Bytes of names that are not UTF-8 become U+FFFD.
 */
#ifndef JSONWRITE_H
#define JSONWRITE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* `value`, which a call of the library has just made. */
json_object *jsonw_made(json_object *value);

/* Give `object` a key; `value` becomes its own. */
void jsonw_add(json_object *object, const char *key, json_object *value);
void jsonw_add_int(json_object *object, const char *key, int64_t val);
void jsonw_add_text(json_object *object, const char *key, const char *text);
/* An ISO time, of ns since the Epoch. */
void jsonw_add_time(json_object *object, const char *key, int64_t ns);
void jsonw_append(json_object *array, json_object *value);

/* A count of an event. */
json_object *jsonw_count(bool is_signed, uint64_t val);

/* A ratio; NULL, which is written as null, if it is not a number. */
json_object *jsonw_ratio(double val);

/* Writes `object`, without a newline, and puts it. */
void jsonw_put(FILE *f, json_object *object);

#endif /* JSONWRITE_H */
