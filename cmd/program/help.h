/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * help.h - what -h and --version print.
 */
#ifndef HELP_H
#define HELP_H

#include <libcpc.h>
#include <stdbool.h>
#include <stdio.h>

struct about {
	const char *program;
	const char *has;     /* features to print after the version; or NULL */
	bool of_cpus;	     /* it counts CPUs, not LWPs */
	bool version;	     /* print the version only */
	const char *pattern; /* print only events whose name or description matches; or NULL */
};

/*
 * Prints to stdout the version, the events that match a pattern, or the usage and everything that
 * can be counted here.  Returns the exit status.
 */
int help_print(cpc_t *cpc, const struct about *about, void (*print_usage)(FILE *f));

/* Prints `text` after `label`, in lines of 75 columns. */
void help_print_text(FILE *f, const char *label, const char *text);

#endif /* HELP_H */
