/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * standard.h - events that event files name, and other files describe: "ArchStdEvent" in those
 * of the kernel for Arm.
 */
#ifndef STANDARD_H
#define STANDARD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct standard;

/* Notes what the files, up to NULL, have; one that cannot be read has nothing.  Never NULL. */
struct standard *standard_read(char **files);
void standard_free(struct standard *standard);

/* Is a file there only to be referred to?  Then how many of its events are. */
bool standard_is_source(const struct standard *standard, const char *file, size_t *n);

/*
 * Puts descriptions in the place of what refers to them, with those members changed that stand
 * beside the reference.  Returns how many are in none of the files.
 */
size_t standard_resolve(const struct standard *standard, struct json_object *file);

#endif /* STANDARD_H */
