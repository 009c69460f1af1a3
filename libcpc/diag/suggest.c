/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* suggest.c - which known name a misspelt one resembles. */
#include "diag.h"

#include <bsd/string.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>

#define MAX_NAME 64

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/*
 * The lowest number of insertions, deletions, substitutions and exchanges of neighbours that
 * turn `a` into `b`, ignoring case (the restricted Damerau-Levenshtein distance).  It needs
 * three rows of the matrix.
 */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][MAX_NAME + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t n = strlen(b);

	for (unsigned j = 0; j <= n; j++)
		last[j] = j;
	for (unsigned i = 1; a[i - 1] != '\0'; i++) {
		unsigned *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			bool same = lower(a[i - 1]) == lower(b[j - 1]);

			row[j] = MIN(MIN(last[j], row[j - 1]) + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[n];
}

void cpci_suggest_start(struct cpci_suggest *suggest, const char *name)
{
	suggest->name = name;
	suggest->best[0] = '\0';
	/* At most a third of the name may be wrong. */
	suggest->distance = (unsigned)(strlen(name) + 2) / 3 + 1;
}

void cpci_suggest_try(void *arg, const char *candidate)
{
	struct cpci_suggest *suggest = arg;
	unsigned d;

	if (strcmp(candidate, suggest->name) == 0 || strlen(candidate) > MAX_NAME ||
	    strlen(suggest->name) > MAX_NAME)
		return;
	d = distance(suggest->name, candidate);
	if (d < suggest->distance) {
		suggest->distance = d;
		strlcpy(suggest->best, candidate, sizeof(suggest->best));
	}
}
