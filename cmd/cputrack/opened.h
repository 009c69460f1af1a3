/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opened.h - the files with counted functions that no process opened during the run.
 *
 * A program must open a file to map it.  If no process opened the file, it is probably the wrong
 * one, and a count of 0 says nothing about the function.
 */
#ifndef OPENED_H
#define OPENED_H

#include "../base/setgrp.h"
#include "pids.h"

#include <stddef.h>

struct opened {
	size_t n;
	struct opened_file *file;
};

/*
 * Watches the files from now on, by fanotify(7).  `pids`: the processes to attach to, which can
 * have mapped a file before; or NULL.  A file that cannot be watched is left out.
 */
void opened_watch(struct opened *opened, cpc_t *cpc, const struct setgrp *grp,
		  const struct pids *pids);
/*
 * Reports the files that no other process opened or had mapped.  Not if calls were counted: a
 * process can have another file at that path.
 */
void opened_report(struct opened *opened, cpc_t *cpc, const struct setgrp *grp);
void opened_free(struct opened *opened);

#endif /* OPENED_H */
