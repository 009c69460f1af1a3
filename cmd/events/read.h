/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * read.h - reads a JSON file, and the members of its objects.
 */
#ifndef READ_H
#define READ_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * Reads a file with one JSON value; release it by json_object_put().  JSON null is NULL.  False
 * after a message.
 */
bool read_json(const char *file, struct json_object **value);

/* The text of a member; "": missing, or neither text nor a number. */
const char *read_member(struct json_object *object, const char *key);

#endif /* READ_H */
