/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * read.h - a file of JSON.
 */
#ifndef READ_H
#define READ_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * Reads a file that is one value of JSON, which may be NULL, and is the caller's.  False: it
 * cannot be read, or is none, and with `tell` a message says why, and in which line.
 */
bool read_json(const char *file, bool tell, struct json_object **value);

#endif /* READ_H */
