/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opts.h - a table of options, for parsing and for -h.
 */
#ifndef OPTS_H
#define OPTS_H

#include <stdio.h>

/* TO_COUNT: the option is invalid with -I, which counts nothing. */
enum opt_use { ALWAYS, TO_COUNT };

struct opt {
	int code;	  /* the letter, or from 256 on a long option without a letter */
	const char *name; /* the long option */
	const char *arg;  /* the name of its argument, in [] if optional; NULL: no argument */
	const char *help;
	enum opt_use use;
};

/* An option that similar programs have and we do not: a letter or a long name. */
struct foreign_opt {
	const char *name;
	const char *instead; /* the end of the message: what to use here */
};

/*
 * As getopt_long(3), for a table that ends with code 0.  Stops at the first word that is not an
 * option.  An optional argument may follow as a word that is not an option.  Returns '?' after an
 * error message, -1 at the end.  `foreign` ends with a NULL name, or is NULL.
 */
int opts_next(int argc, char **argv, const struct opt *opts, const struct foreign_opt *foreign);

/* Prints a line for each option. */
void opts_print(FILE *f, const struct opt *opts);

#endif /* OPTS_H */
