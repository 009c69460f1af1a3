/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replace.h - replaces the contents of a file at once, so that readers never see a part of it.
 *
 * A new file gets the owner, group, mode and attributes of the old one, and its name.  If that is
 * impossible, the contents are written into the old file: it is a mount point, or we may write the
 * file but not its directory, for example.
 */
#ifndef REPLACE_H
#define REPLACE_H

#include "../../libcpc/sys/outpath.h"

#include <stddef.h>

struct replace {
	struct cpc_outpath at;
	int fd; /* the current file, locked; -1: none, or it may not be opened */
	bool in_place;
};

enum replace_found { REPLACE_READY, REPLACE_OTHER, REPLACE_FAILED };

/*
 * Finds the file, and tries out whether it can be written.  REPLACE_OTHER: it is not a regular
 * file, and `r` is closed.  REPLACE_FAILED: see errno and r->at.why.
 */
enum replace_found replace_open(struct replace *r, const char *path);

/* Returns 0, or an errno: see r->at.why.  If the file was not written in place, it is unchanged. */
int replace_write(struct replace *r, const char *text, size_t size);

void replace_close(struct replace *r);

/* Locks a regular file for one writer.  -1: another program is writing it. */
int replace_lock(struct cpc_outpath *at, int fd);

#endif /* REPLACE_H */
