/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * descendants.h - find the descendants of processes in /proc, and attach to them.
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include "../pids.h"

/* The result of an attach to a process that was found. */
enum found {
	FOUND_ATTACHED, /* what it creates from now on is followed */
	FOUND_GONE,	/* it has ended meanwhile */
	FOUND_REFUSED,
	FOUND_STOP, /* stop the search */
};

/*
 * Call `attach` for each descendant of `pids` that we do not trace.  False after a message: some
 * may be missing.
 */
bool descendants_attach(const struct pids *pids, enum found (*attach)(void *arg, pid_t pid),
			void *arg);

#endif /* DESCENDANTS_H */
