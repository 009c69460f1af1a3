/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probed.h - the files that events name by their paths, to count calls of their functions.
 *
 * The kernel engine looks up a path once, at the start, in the root directory of cputrack.  In a
 * container, or after an upgrade, a process may have a different file at that path.  Its calls are
 * not counted, so the functions below find and report such processes.
 */
#ifndef PROBED_H
#define PROBED_H

#include "../../../liblwps/lwps.h"
#include "../../base/setgrp.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#define PROBED_FOLDERS 2 /* those of `path` and `real`, which differ for a link */

struct probed_file {
	char *path, *real; /* as the event names it, and without symbolic links */
	struct stat st;	   /* at the start */
	int watch;	   /* of inotify(7), for changes of the file... */
	int folder[PROBED_FOLDERS];
	char *name[PROBED_FOLDERS]; /* ...and for new files with this name in these folders */
	bool changed;		    /* or replaced, since the start */
	bool other;		    /* a process with a different file was reported */
};

struct probed {
	size_t n;
	struct probed_file *file;
	int inotify; /* -1: no file is watched */
};

/* Finds the files of all sets, and watches them from now on.  False: `why` gets the reason. */
bool probed_find(struct probed *probed, cpc_t *cpc, const struct setgrp *grp, char *why,
		 size_t size);

/* Returns a path at which the process has a different file; NULL: it has the same files. */
const char *probed_differs(const struct probed *probed, pid_t pid);

/*
 * Reports the process of a record, if it has a different file, once for each file; also if it has
 * exited, and its file is unknown.  False: calls of the process may not be counted.
 */
bool probed_check(struct probed *probed, const struct lwps_record *record);

/* Reports code of the process in which the kernel has set no probe of a bound set.  False: some. */
bool probed_is_set(cpc_t *cpc, const cpc_set_t *set, pid_t pid);

/* Finds the files that were changed or replaced since the start.  False: no file was. */
bool probed_find_changed(struct probed *probed);
/* Reports them, except those that probed_check() has reported. */
void probed_report_changed(const struct probed *probed);

void probed_free(struct probed *probed);

#endif /* PROBED_H */
