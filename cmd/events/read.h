/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * read.h - reads a JSON file.
 */
#ifndef READ_H
#define READ_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * Reads a file with one JSON value; release it by json_object_put().  JSON null is NULL.  False:
 * not readable or invalid; with `report`, a message has the reason and the line.
 */
bool read_json(const char *file, bool report, struct json_object **value);

#endif /* READ_H */
