/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * help.h - what -h, --version and --check print to stdout.
 */
#ifndef HELP_H
#define HELP_H

#include <libcpc.h>
#include <stdbool.h>

struct program;

/*
 * Prints the version, the events whose name or description matches a pattern, or without one the
 * usage and everything that can be counted here.  Returns the exit status.
 */
int help_print(cpc_t *cpc, const struct program *prog, bool version, const char *pattern);

/* Prints what can be counted on this machine, and how to enable the rest.  Returns STATUS_OK if
 * hardware counters count. */
int check_print(cpc_t *cpc);

/* Prints `text` after `label`, in lines of 75 columns. */
void help_print_text(const char *label, const char *text);

#endif /* HELP_H */
