/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.h - the processes of -p, and the state of processes in /proc.
 */
#ifndef PIDS_H
#define PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define COMM_SIZE 16 /* of the kernel's names of LWPs, with a NUL */

/* A process to attach to. */
struct target {
	pid_t pid;
	bool by_name; /* its name was given, not its id: it may have ended since */
};

struct pids {
	size_t n;
	struct target *target; /* each once, in the order in which they were found */
};

/*
 * Adds the processes of the argument of -p: ids and names, separated by commas, or only ids,
 * separated by blanks or newlines.  False after a message.
 */
bool pids_parse(struct pids *pids, const char *text);

/* From /proc/PID/stat. */
struct pid_stat {
	char comm[COMM_SIZE];
	char state; /* as in ps(1) */
	pid_t parent;
	bool exiting;		  /* its resources are being released, or it is a zombie */
	unsigned long long start; /* its birth; a later process with the same id has another */
};

/* False: the process does not exist, or /proc hides it. */
bool pid_read_stat(pid_t pid, struct pid_stat *stat);

/* Reads the name of a thread; leaves it as it is when the thread is gone. */
void pid_read_comm(pid_t tid, char comm[COMM_SIZE]);

/* Reads the text after `key` in /proc/PID/status.  False: as pid_read_stat(). */
bool pid_read_status(pid_t pid, const char *key, char *value, size_t size);

/* Calls `visit` for all processes but our own, in the order of ids, until it returns false. */
void pids_each(bool (*visit)(void *arg, pid_t pid), void *arg);

#endif /* PIDS_H */
