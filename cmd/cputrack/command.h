/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * command.h - the process that cputrack started, as signal handlers need it.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct command {
	pid_t pid; /* 0: not started yet */
	int pidfd; /* -1: none, as before Linux 5.3 */
	/* Truth values.  Not every machine has bytes that change without a lock. */
	atomic_int reaped;  /* its process id may be another process's */
	atomic_int left;    /* it is reaped, or not tracked any more since an exec */
	atomic_int stop_at; /* tracking is to stop when `left` becomes true */
	atomic_int cut;	    /* we got a signal before it had left */
};

/* The process was started; it must still be our child, alive or not. */
void command_started(struct command *command, pid_t pid);
/* No signal handler knows of it any more. */
void command_forget(struct command *command);

/* For signal handlers: has it ended, or is it a zombie? */
bool command_ended(const struct command *command);

/* For signal handlers: sends it a signal, unless it has ended. */
void command_signal(const struct command *command, int sig);

#endif /* COMMAND_H */
