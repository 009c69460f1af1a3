/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.h - the processes that -p names.
 */
#ifndef PIDS_H
#define PIDS_H

#include "track/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pids {
	size_t n;
	pid_t *id; /* each once, in the order in which they were found */
};

/*
 * Adds the processes of the argument of -p: ids and names, separated by commas.  False after a
 * message.
 */
bool pids_parse(struct pids *pids, const char *text);

/* From /proc/PID/stat. */
struct pid_stat {
	char comm[COMM_SIZE];
	char state; /* as in ps(1) */
	pid_t parent;
	bool exiting;		  /* its resources are being released, or it is a zombie */
	unsigned long long start; /* when it was born: another process may have its id later */
};

/* False: the process does not exist, or /proc hides it. */
bool pid_read_stat(pid_t pid, struct pid_stat *stat);

/* Calls `visit` for all processes but our own, in the order of ids, until it is false. */
void pids_each(bool (*visit)(void *arg, pid_t pid), void *arg);

#endif /* PIDS_H */
