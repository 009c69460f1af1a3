/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probed.h - the files that events name by their paths, to count calls of their functions.
 *
 * Where LWPs are counted in the kernel, a path is looked up once, at the start, as this process
 * sees it.  So this finds out where a process has another file by that path.
 */
#ifndef PROBED_H
#define PROBED_H

#include "../../base/setgrp.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define PROBED_FOLDERS 2 /* that of the path, and that of the file, if the path is a link */

struct probed_file {
	char *path, *real; /* as the event names it, and without symbolic links */
	struct stat st;	   /* at the start */
	int watch;	   /* inotify(7): of the file... */
	int folder[PROBED_FOLDERS];
	char *name[PROBED_FOLDERS]; /* ...and of a file of this name in each of these folders */
	bool changed;		    /* or replaced, since the start */
	bool other;		    /* a process with another file was reported */
};

struct probed {
	size_t n;
	struct probed_file *file;
	int inotify; /* -1: no file is watched */
};

/* Finds the files of all sets, and watches them from now on.  False: `why` it cannot. */
bool probed_find(struct probed *probed, cpc_t *cpc, const struct setgrp *grp, char *why,
		 size_t size);

/* A path by which a process has another file, in a container or since it was replaced; NULL: none.
 */
const char *probed_differs(const struct probed *probed, pid_t pid);

/*
 * Reports a process that has another file, once for each file.  `parent` is looked at if the
 * process has ended; 0: it is not known.  False: the process lacks counts.
 */
bool probed_check(struct probed *probed, pid_t pid, pid_t parent);

/* Reports the files that were changed or replaced since the start.  False: none was. */
bool probed_report_changed(struct probed *probed);

void probed_free(struct probed *probed);

#endif /* PROBED_H */
