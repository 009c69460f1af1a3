/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opts.h - one table of options drives parsing and usage.
 */
#ifndef OPTS_H
#define OPTS_H

#include <stdio.h>

/* When an option makes sense. */
enum opt_use { ALWAYS, TO_COUNT };

struct opt {
	int code;	  /* the letter, or a number from 256 for a long option only */
	const char *name; /* the long option */
	const char *arg;  /* what its argument is called; NULL: it has none */
	const char *help;
	enum opt_use use;
};

/*
 * Like getopt_long(3), for a table that ends with a zero code; stops at the first word
 * that is not an option.  Returns '?' after an error, which was reported; -1 at the end.
 */
int opts_next(int argc, char **argv, const struct opt *opts);

/* Prints a line of help for each option. */
void opts_print(FILE *f, const struct opt *opts);

#endif /* OPTS_H */
