/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * mistakes.h - detect common mistakes on the command line.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <libcpc.h>
#include <stdbool.h>

/*
 * Refuses a command that is an event or a command line for a shell instead of a program.  Warns of
 * a -c among the command's own arguments, if `no_events` were given before the command.  Returns
 * STATUS_OK, or the exit status after a message.
 */
int mistakes_of_command(cpc_t *cpc, char **command, bool no_events);

/* Warns of --fail-above among the arguments of the second command, unless also `given` to us. */
void mistakes_of_second(char **command, bool given);

/* Refuses a program in place of the record for --compare.  Returns the exit status, likewise. */
int mistakes_of_record(const char *path);

/*
 * Refuses a command beside `option`: -p, --all, ...; `usage` says why.  For sleep(1), which sets
 * the time in other tools, it names --for; for a number, an interval there, -T.  Returns
 * STATUS_USAGE.
 */
int mistakes_of_both(char **command, const char *option, const char *usage);

#endif /* MISTAKES_H */
