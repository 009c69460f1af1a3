/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * verdicts [COMPARISONS] - how often a comparison shows a difference, in per cent: of equal
 * programs, which is a false alarm, and of programs that differ.  The values of runs are simulated.
 *
 * Exit status 1: there are more false alarms, or fewer differences shown, than docs/ci.md says.
 */
#include "../../cmd/base/util.h"
#include "../../cmd/rows/series.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RUNS 30
#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))

static const size_t runs[] = {2, 3, 4, 5, 7, 10, 20, 30};

/* xorshift64*, so that all machines have the same numbers. */
static uint64_t state = 88172645463325252;

static double uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return ((double)(state * 2685821657736338717 >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ---- values of a run, whose median is about 1000 ------------------------------------ */

static double one_per_cent(void)
{
	return 1000 + 10 * normal();
}

static double third_of_per_cent(void)
{
	return 1000 + 3.3 * normal();
}

static double four_per_cent(void)
{
	return 1000 + 40 * normal();
}

static double log_normal(void)
{
	return 1000 * exp(0.3 * normal());
}

/* Each tenth run takes up to five times as long. */
static double disturbed(void)
{
	return one_per_cent() * (uniform() < 0.1 ? 1 + 4 * uniform() : 1);
}

/* A count of five values at most: many ties. */
static double few_counts(void)
{
	return 1000 + floor(2 * uniform()) + floor(2 * uniform()) + floor(2 * uniform()) +
	       floor(2 * uniform());
}

static double two_counts(void)
{
	return 1000 + floor(2 * uniform());
}

static double one_count(void)
{
	return 1000;
}

/* Two runs of five take twice as long. */
static double sometimes_slow(void)
{
	return one_per_cent() * (uniform() < 0.4 ? 2 : 1);
}

/* ---- comparisons ------------------------------------------------------------------- */

struct situation {
	const char *what;
	double (*value)(void), (*new_value)(void); /* of a run of the old and of the new program */
	double factor;
	double outlier;	 /* the first new run has this value; 0: no outlier */
	double expected; /* of 10 runs: at most, or of programs that differ at least, per cent */
};

static const struct situation same[] = {
	{"normal, 1 %", one_per_cent, one_per_cent, 1, 0, 6},
	{"log-normal, 30 %", log_normal, log_normal, 1, 0, 6},
	{"1 of 10 disturbed", disturbed, disturbed, 1, 0, 6},
	{"5 counts", few_counts, few_counts, 1, 0, 6},
	{"2 counts", two_counts, two_counts, 1, 0, 6},
	{"all equal", one_count, one_count, 1, 0, 0},
};
static const struct situation different[] = {
	{"+1 %, spread 0.33 %", third_of_per_cent, third_of_per_cent, 1.01, 0, 99},
	{"+1 %, spread 1 %", one_per_cent, one_per_cent, 1.01, 0, 45},
	{"+9 %, spread 4 %", four_per_cent, four_per_cent, 1.09, 0, 97},
	{"+9 %, one outlier", one_per_cent, one_per_cent, 1.09, 5000, 100},
	{"+9 %, 1 of 10 disturbed", disturbed, disturbed, 1.09, 0, 85},
	{"2 of 5 runs twice", one_per_cent, sometimes_slow, 1, 0, 55},
};
static const struct situation above[] = {
	{"the same, spread 1 %", one_per_cent, one_per_cent, 1, 0, 0},
	{"+3 %, spread 1 %", one_per_cent, one_per_cent, 1.03, 0, 4},
	{"+9 %, spread 4 %", four_per_cent, four_per_cent, 1.09, 0, 70},
	{"+9 %, one outlier", one_per_cent, one_per_cent, 1.09, 5000, 100},
	{"2 of 5 runs twice", one_per_cent, sometimes_slow, 1, 0, 35},
};

enum sought { DIFFERENCE, MORE, ABOVE };

static bool shows(const struct situation *s, size_t n, enum sought sought)
{
	double val[2][MAX_RUNS];
	struct series old = {.kind = SERIES_EVENT, .n = n, .val = val[0]}, now = old;
	struct comparison c;

	now.val = val[1];
	for (size_t i = 0; i < n; i++) {
		old.val[i] = s->value();
		now.val[i] = s->new_value() * s->factor;
	}
	if (s->outlier > 0)
		now.val[0] = s->outlier;
	c = series_compare(&old, &now, 0.03);
	return sought == ABOVE	? c.above
	       : sought == MORE ? c.verdict == VERDICT_MORE
				: c.verdict == VERDICT_MORE || c.verdict == VERDICT_LESS;
}

/* Prints a line of per cent.  Returns those of 10 runs. */
static double print(const struct situation *s, unsigned comparisons, enum sought sought)
{
	double of_ten = 0;

	printf("%-26s", s->what);
	for (size_t k = 0; k < ARRAY_SIZE(runs); k++) {
		unsigned shown = 0;
		double part;

		for (unsigned i = 0; i < comparisons; i++)
			shown += shows(s, runs[k], sought);
		part = 100. * shown / comparisons;
		if (runs[k] == 10)
			of_ten = part;
		printf(" %5.1f", part);
	}
	putchar('\n');
	return of_ten;
}

int main(int argc, char **argv)
{
	unsigned comparisons = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	/* What chance adds to a rate of so few. */
	double chance = 400 * sqrt(0.25 / comparisons);
	bool ok = true;

	printf("%-26s", "runs");
	for (size_t k = 0; k < ARRAY_SIZE(runs); k++)
		printf(" %5zu", runs[k]);
	puts("\nfalse alarms");
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		ok &= print(&same[i], comparisons, DIFFERENCE) <= same[i].expected + chance / 4;
	puts("shown to be more");
	for (size_t i = 0; i < ARRAY_SIZE(different); i++)
		ok &= print(&different[i], comparisons, MORE) >= different[i].expected - chance;
	puts("above a limit of 3 %");
	for (size_t i = 0; i < ARRAY_SIZE(above); i++) {
		double part = print(&above[i], comparisons, ABOVE);

		ok &= above[i].expected < 10 ? part <= above[i].expected + chance / 4
					     : part >= above[i].expected - chance;
	}
	return ok ? 0 : 1;
}
