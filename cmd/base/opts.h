/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opts.h - a table of options, for parsing and for -h.
 */
#ifndef OPTS_H
#define OPTS_H

#include <stddef.h>

/*
 * What an option is for, as bits.  -I refuses TO_COUNT, since it counts nothing.  -r refuses
 * FOR_ROWS, since it prints means.  Formats other than table refuse FOR_TABLES.
 */
enum opt_use { ALWAYS = 0, TO_COUNT = 1, FOR_ROWS = 2, FOR_TABLES = 4 };

struct opt {
	int code;	  /* the letter; OPT_LONG or above: the option has no letter */
	const char *name; /* the long option */
	const char *arg;  /* the name of its argument, in [] if optional, in [=] if that
			   * must follow an =; NULL: no argument */
	const char *help;
	unsigned use; /* of enum opt_use */
	size_t flag;  /* OPT_SETS() of the member that it sets; 0: the program acts on `code` */
};

#define OPT_LONG 256
/* A member of a program's struct config, a bool; the first one cannot be set. */
#define OPT_SETS(member) offsetof(struct config, member)

/* An option that similar programs have and we do not: a letter or a long name. */
struct foreign_opt {
	const char *name;
	const char *instead; /* the end of the message: what to use here */
};

/*
 * As getopt_long(3), for a table that ends with code 0.  Stops at the first word that is not an
 * option.  An optional argument in [] may follow as a word that is not an option.  Sets the flag of
 * the option in `config`.  Returns the option; after an error message, the end of the table, with
 * code 0; NULL: there is no further option.  `foreign` ends with a NULL name, or is NULL.
 */
const struct opt *opts_next(int argc, char **argv, const struct opt *opts,
			    const struct foreign_opt *foreign, void *config);

/* Writes the option as users write it: -t or --names. */
#define OPT_WORD_SIZE 32
const char *opts_word(const struct opt *opt, char word[OPT_WORD_SIZE]);

/* Prints a line for each option to stdout. */
void opts_print(const struct opt *opts);

#endif /* OPTS_H */
