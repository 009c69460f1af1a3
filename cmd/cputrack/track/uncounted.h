/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * uncounted.h - what a run did not count, since it was not followed.
 */
#ifndef UNCOUNTED_H
#define UNCOUNTED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define UNCOUNTED_COMMAND 60 /* bytes of a command line that the message shows */

struct uncounted {
	size_t nprograms;
	pid_t pid;			 /* the process that executed the first one... */
	char command[UNCOUNTED_COMMAND]; /* ...and its command line */
};

/* Without follow_exec, a process has executed a program. */
void uncounted_add(struct uncounted *uncounted, pid_t pid, const char *command);

/* Prints it in one line, with the options that count it; `children` were not followed. */
void uncounted_print(const struct uncounted *uncounted, uint64_t children);

#endif /* UNCOUNTED_H */
