/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * mistakes.h - refuse command lines that were meant otherwise.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <libcpc.h>
#include <stdbool.h>

/*
 * Refuses a command that is an event or a command line for a shell instead of a program.  Warns of
 * events among the command's own arguments, if there were `no_events` before the command.
 * Returns the exit status, after a message if not 0.
 */
int mistakes_of_command(cpc_t *cpc, char **command, bool no_events);

/* Warns of --fail-above among the arguments of the second command, unless it was given. */
void mistakes_of_second(char **command, bool given);

/* Refuses a program in the place of a record of --compare.  Returns the exit status, likewise. */
int mistakes_of_record(const char *path);

#endif /* MISTAKES_H */
