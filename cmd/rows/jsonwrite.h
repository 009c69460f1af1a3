/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonwrite.h - makes JSON with json-c and writes it as ASCII.
 *
 * All functions die if there is no memory.  Bytes that are not UTF-8 become U+FFFD.
 */
#ifndef JSONWRITE_H
#define JSONWRITE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Add a member to `object`, which then owns `value`. */
void jsonwrite_add(json_object *object, const char *key, json_object *value);
void jsonwrite_add_int(json_object *object, const char *key, int64_t val);
void jsonwrite_add_flag(json_object *object, const char *key, bool flag);
void jsonwrite_add_text(json_object *object, const char *key, const char *text);
/* `ns` since the Epoch becomes an ISO time. */
void jsonwrite_add_time(json_object *object, const char *key, int64_t ns);
void jsonwrite_append(json_object *array, json_object *value);

/* Makes the value of a count. */
json_object *jsonwrite_count(bool is_signed, uint64_t val);

/* Makes the value of a ratio; NaN becomes NULL, which json-c writes as null. */
json_object *jsonwrite_ratio(double val);

/* Writes `object` without a newline, and releases it. */
void jsonwrite_put(FILE *f, json_object *object);

#endif /* JSONWRITE_H */
