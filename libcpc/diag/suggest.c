/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * suggest.c - which known name a misspelt one was meant to be.
 */
#include "diag.h"

#include <bsd/string.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NAME 64

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/*
 * The fewest insertions, deletions and substitutions that make `a` of `b`, without
 * regard to case (Levenshtein's distance, a row of the matrix at a time).
 */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[MAX_NAME + 1];
	size_t n = strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; *a != '\0'; i++, a++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			unsigned above = row[j];
			bool same = tolower((unsigned char)*a) == tolower((unsigned char)b[j - 1]);

			row[j] = least(above + 1, row[j - 1] + 1, diagonal + !same);
			diagonal = above;
		}
	}
	return row[n];
}

void cpci_suggest_start(struct cpci_suggest *suggest, const char *name)
{
	suggest->name = name;
	suggest->best[0] = '\0';
	/* A third of it may be wrong; more is another word. */
	suggest->distance = (unsigned)(strlen(name) + 2) / 3 + 1;
}

void cpci_suggest_try(struct cpci_suggest *suggest, const char *candidate)
{
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
