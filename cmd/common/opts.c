/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opts.c - one table of options drives parsing and usage.
 */
#include "opts.h"

#include <getopt.h>
#include <string.h>

#define MAX_OPTS 32

int opts_next(int argc, char **argv, const struct opt *opts)
{
	struct option longs[MAX_OPTS + 1] = {0};
	char shorts[2 + 2 * MAX_OPTS] = "+", *s = shorts + 1;

	for (int i = 0; i < MAX_OPTS && opts[i].code != 0; i++) {
		longs[i].name = opts[i].name;
		longs[i].has_arg = opts[i].arg != NULL ? required_argument : no_argument;
		longs[i].val = opts[i].code;
		if (opts[i].code < 256) {
			*s++ = (char)opts[i].code;
			if (opts[i].arg != NULL)
				*s++ = ':';
		}
	}
	return getopt_long(argc, argv, shorts, longs, NULL);
}

void opts_print(FILE *f, const struct opt *opts)
{
	for (; opts->code != 0; opts++) {
		char words[64];

		snprintf(words, sizeof(words), "%s%s%s%s", "--", opts->name,
			 opts->arg != NULL ? " " : "", opts->arg != NULL ? opts->arg : "");
		if (opts->code < 256)
			fprintf(f, "  -%c, %-22s %s\n", opts->code, words, opts->help);
		else
			fprintf(f, "      %-22s %s\n", words, opts->help);
	}
}
