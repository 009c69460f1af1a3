/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * mistakes.h - command lines that mean something else than they say.
 */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <libcpc.h>
#include <stdbool.h>

/*
 * Looks at the command that is to be started: a word that is no program but an event or a
 * command line for a shell is refused, and options behind it that were meant for us are told
 * if there were `no_events` before it.  Returns the exit status, after a message if not 0.
 */
int mistakes_of_command(cpc_t *cpc, char **command, bool no_events);

#endif /* MISTAKES_H */
