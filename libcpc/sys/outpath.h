/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outpath.h - finds and opens the file that a path names, to write it.
 *
 * Other users may change links and directories on the path at any time.  So the path is walked
 * once; then all is done in the directory that was found, even if it is renamed.  A directory is
 * shared if all users can write to it, or if it is sticky and its group can.  For root, directories
 * of other users and of groups are shared, too.  In a shared directory, links of other users are
 * not followed, and their files are not written.  A file of ours with a second name (hard link) is
 * not written there: another user may have made that name.  The settings fs.protected_symlinks,
 * fs.protected_regular and fs.protected_hardlinks of sysctl(8) are similar, but may be off.
 *
 * Not installed; the programs use it, too.
 */
#ifndef OUTPATH_H
#define OUTPATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#pragma GCC visibility push(default)

struct cpc_outpath {
	int dir; /* O_PATH; -1: closed */
	char name[NAME_MAX + 1];
	bool follow; /* `name` is a link of /proc, which only the kernel can follow */
	bool is_root;
	bool shared; /* other users can write to `dir` */
	uid_t owner; /* of `dir` */
	char why[200];
};

/* -1: see errno and `why`; nothing is open. */
int cpc_outpath_find(struct cpc_outpath *at, const char *path);
/* May we replace the file, or write it in place?  -1: see errno and `why`. */
int cpc_outpath_check(struct cpc_outpath *at, const struct stat *st, bool in_place);
/* Opens the file, or creates it; `flags` as of open(2).  -1: see errno and `why`. */
int cpc_outpath_open(struct cpc_outpath *at, int flags);
void cpc_outpath_close(struct cpc_outpath *at);

#pragma GCC visibility pop

#endif /* OUTPATH_H */
