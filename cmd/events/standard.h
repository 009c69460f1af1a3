/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * standard.h - resolves references to events of other files: "ArchStdEvent" in files of Linux for
 * Arm.
 */
#ifndef STANDARD_H
#define STANDARD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct standard;

/*
 * Reads a list of files, which ends with NULL, and replaces references by the events that they
 * name.  Members next to a reference override members of the event.  NULL after a message.
 */
struct standard *standard_read(char **files);
void standard_free(struct standard *standard);

/* Do other files refer to this file, which itself has no references?  `*n`: to how many events. */
bool standard_is_source(const struct standard *standard, const char *name, size_t *n);

/* The contents of file `i`.  `*missing`: its references to events in no file. */
struct json_object *standard_file(const struct standard *standard, size_t i, size_t *missing);

#endif /* STANDARD_H */
