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

/* Reads a list of files, which ends with NULL.  Skips unreadable files.  Never NULL. */
struct standard *standard_read(char **files);
void standard_free(struct standard *standard);

/* Do other files refer to this file, which itself has no references?  `*n`: to how many events. */
bool standard_is_source(const struct standard *standard, const char *name, size_t *n);

/*
 * Replaces references in `file` by the events that they name; members next to a reference override
 * those of the event.  Returns the number of references to events in no file.
 */
size_t standard_resolve(const struct standard *standard, struct json_object *file);

#endif /* STANDARD_H */
