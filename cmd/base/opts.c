/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * opts.c - a table of options, for parsing and for -h.
 */
#include "opts.h"

#include "say.h"
#include "util.h"

#include <bsd/string.h>
#include <errno.h>
#include <getopt.h>
#include <libcpc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 64
#define UNKNOWN_OPTION "unknown option '%s'; %s -h lists the options"

/* Reports an option of similar programs, a letter or a long name of `n` bytes.  False: unknown. */
static bool report_foreign(const char *word, const char *name, size_t n,
			   const struct foreign_opt *foreign)
{
	for (; foreign != NULL && foreign->name != NULL; foreign++) {
		if (strlen(foreign->name) != n || memcmp(foreign->name, name, n) != 0)
			continue;
		say("unknown option '%s'; %s", word, foreign->instead);
		return true;
	}
	return false;
}

/* Reports an unknown long option or an ambiguous abbreviation. */
static void report_long(const char *word, const struct opt *opts)
{
	size_t n = strcspn(word + 2, "="), nnames = 0;
	const char *name[MAX_OPTS], *nearest;
	char matches[256] = "", *given = xasprintf("%.*s", (int)n, word + 2);

	for (; nnames < MAX_OPTS && opts[nnames].code != 0; nnames++) {
		name[nnames] = opts[nnames].name;
		if (n == 0 || strncmp(name[nnames], given, n) != 0)
			continue;
		strlcat(matches, *matches != '\0' ? ", --" : "--", sizeof(matches));
		strlcat(matches, name[nnames], sizeof(matches));
	}
	nearest = cpc_nearest(given, name, nnames);
	if (*matches != '\0')
		say("ambiguous option '%s': it can be %s", word, matches);
	else if (nearest != NULL)
		say("unknown option '%s' (did you mean '--%s'?)", word, nearest);
	else
		say(UNKNOWN_OPTION, word, program_invocation_short_name);
	free(given);
}

/* Reports the option at which getopt_long(3) failed. */
static void report_error(char **argv, const struct opt *opts, const struct foreign_opt *foreign,
			 bool missing_argument)
{
	char letter[3] = {'-', (char)optopt, '\0'};
	/* Quote a long option as it was written, a short one as its letter. */
	bool is_letter = optopt > 0 && optopt < OPT_LONG;
	const char *what = is_letter ? letter : argv[optind - 1];
	const char *name = what + (is_letter ? 1 : 2);

	if (missing_argument)
		say("missing argument of option '%s'", what);
	else if (!is_letter && optopt != 0)
		say("invalid option '%s': it takes no argument", what);
	else if (report_foreign(what, name, strcspn(name, "="), foreign))
		return;
	else if (!is_letter)
		report_long(what, opts);
	else
		say(UNKNOWN_OPTION, what, program_invocation_short_name);
}

/* Unlike for getopt_long(3), an optional argument in [] may be the next word. */
static void take_optional(int argc, char **argv, const struct opt *opt)
{
	const char *next = optind < argc ? argv[optind] : "-?";

	if (opt->arg == NULL || *opt->arg != '[' || opt->arg[1] == '=' || optarg != NULL ||
	    (*next == '-' && strcmp(next, "-") != 0))
		return;
	optarg = argv[optind++];
}

const struct opt *opts_next(int argc, char **argv, const struct opt *opts,
			    const struct foreign_opt *foreign, void *config)
{
	struct option longs[MAX_OPTS + 1] = {0};
	char shorts[3 + 2 * MAX_OPTS] = "+:", *s = shorts + 2;
	const struct opt *opt = opts;
	int c;

	for (int i = 0; i < MAX_OPTS && opts[i].code != 0; i++) {
		longs[i].name = opts[i].name;
		longs[i].has_arg = opts[i].arg == NULL	 ? no_argument
				   : *opts[i].arg == '[' ? optional_argument
							 : required_argument;
		longs[i].val = OPT_LONG + i;
		if (opts[i].code < OPT_LONG) {
			*s++ = (char)opts[i].code;
			if (opts[i].arg != NULL)
				*s++ = ':';
		}
	}
	c = getopt_long(argc, argv, shorts, longs, NULL);
	if (c == -1)
		return NULL;
	if (c >= OPT_LONG)
		opt += c - OPT_LONG;
	while (c < OPT_LONG && opt->code != 0 && opt->code != c)
		opt++;
	if (opt->code == 0)
		report_error(argv, opts, foreign, c == ':');
	else
		take_optional(argc, argv, opt);
	if (opt->flag != 0)
		*(bool *)((char *)config + opt->flag) = true;
	return opt;
}

const char *opts_word(const struct opt *opt, char word[OPT_WORD_SIZE])
{
	if (opt->code < OPT_LONG)
		snprintf(word, OPT_WORD_SIZE, "-%c", opt->code);
	else
		snprintf(word, OPT_WORD_SIZE, "--%s", opt->name);
	return word;
}

void opts_print(const struct opt *opts)
{
	for (; opts->code != 0; opts++) {
		char words[64];

		snprintf(words, sizeof(words), "%s%s%s%s", "--", opts->name,
			 opts->arg == NULL || opts->arg[1] == '=' ? "" : " ",
			 opts->arg != NULL ? opts->arg : "");
		if (opts->code < OPT_LONG)
			printf("  -%c, %-22s %s\n", opts->code, words, opts->help);
		else
			printf("      %-22s %s\n", words, opts->help);
	}
}
