/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * series.c - the values of an event in several runs, and the comparison of two such series.
 *
 * Series are compared by Welch's t-test, two-sided, at a level of 5 %.  It allows for different
 * variances and numbers of runs.
 */
#include "series.h"

#include "../base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void series_add(struct series *series, double val)
{
	series->val = xrealloc(series->val, (series->n + 1) * sizeof(*series->val));
	series->val[series->n++] = val;
}

void series_free(struct series *series)
{
	free(series->label);
	free(series->unit);
	free(series->val);
}

double series_least(const struct series *series)
{
	double least = NAN;

	for (size_t i = 0; i < series->n; i++)
		least = fmin(least, series->val[i]);
	return least;
}

double series_most(const struct series *series)
{
	double most = NAN;

	for (size_t i = 0; i < series->n; i++)
		most = fmax(most, series->val[i]);
	return most;
}

static bool is_constant(const struct series *series)
{
	return series_least(series) == series_most(series);
}

/* The mean of equal values is that value, without rounding. */
double series_mean(const struct series *series)
{
	double sum = 0;

	if (is_constant(series))
		return series->val[0];
	for (size_t i = 0; i < series->n; i++)
		sum += series->val[i];
	return sum / (double)series->n;
}

static double variance(const struct series *series)
{
	double m = series_mean(series), sum = 0;

	if (is_constant(series))
		return 0;
	for (size_t i = 0; i < series->n; i++)
		sum += (series->val[i] - m) * (series->val[i] - m);
	return sum / (double)(series->n - 1);
}

double series_deviation(const struct series *series)
{
	return series->n > 1 ? sqrt(variance(series)) : (double)NAN;
}

void real_text(char text[REAL_SIZE], double val)
{
	snprintf(text, REAL_SIZE, "%.15g", val);
	if (strtod(text, NULL) != val)
		snprintf(text, REAL_SIZE, "%.17g", val);
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_SAME] = "same",
		[VERDICT_MORE] = "more",
		[VERDICT_LESS] = "less",
		[VERDICT_NO_DIFFERENCE] = "no difference shown",
		[VERDICT_CANNOT_TELL] = "cannot tell",
	};

	return names[verdict];
}

/* The 97.5 % quantile of Student's t, of the next lower number of degrees in the table. */
static double student(double degrees)
{
	static const struct {
		double degrees, t;
	} table[] = {
		{1, 12.706}, {2, 4.303},   {3, 3.182},	  {4, 2.776},  {5, 2.571},  {6, 2.447},
		{7, 2.365},  {8, 2.306},   {9, 2.262},	  {10, 2.228}, {12, 2.179}, {14, 2.145},
		{16, 2.120}, {18, 2.101},  {20, 2.086},	  {25, 2.060}, {30, 2.042}, {40, 2.021},
		{60, 2.000}, {120, 1.980}, {1000, 1.962},
	};
	size_t i = 0;

	while (i + 1 < sizeof(table) / sizeof(*table) && table[i + 1].degrees <= degrees)
		i++;
	return table[i].t;
}

/*
 * Does the mean of `now` exceed the old one times `factor`?  Returns the sign of the difference, or
 * 0: the spread of the runs can explain it.
 */
static int exceeds(const struct series *now, const struct series *old, double factor)
{
	double nn = (double)now->n, no = (double)old->n, was = factor * series_mean(old);
	double vn = variance(now) / nn, vo = factor * factor * variance(old) / no;
	double degrees = (vn + vo) * (vn + vo) / (vn * vn / (nn - 1) + vo * vo / (no - 1));
	double spread = vn + vo > 0 ? student(degrees) * sqrt(vn + vo) : 0;
	double difference = series_mean(now) - was;

	/* The factor is rounded: 1.03 times 100 may not be 103. */
	if (factor != 1)
		spread += 1e-12 * fabs(was);
	return fabs(difference) <= spread ? 0 : difference > 0 ? 1 : -1;
}

/* Why the series cannot be compared; NULL: they can. */
static const char *obstacle(const struct series *old, const struct series *now)
{
	if (old->n == 0)
		return "not counted in old";
	if (now->n == 0)
		return "not counted in new";
	if (old->incomplete || now->incomplete)
		return "counts are incomplete";
	if (old->missing || now->missing)
		return "not counted in every run";
	if (now->kind == SERIES_EVENT && (old->turns || now->turns))
		return "counted in turns";
	if (old->n < 2 || now->n < 2)
		return "one run is too few";
	return NULL;
}

struct comparison series_compare(const struct series *old, const struct series *now, double limit)
{
	struct comparison c = {.reason = obstacle(old, now), .change = NAN};
	double was = series_mean(old);
	int sign;

	if (was != 0)
		c.change = (series_mean(now) - was) / fabs(was);
	if (c.reason != NULL) {
		c.verdict = VERDICT_CANNOT_TELL;
		return c;
	}
	sign = exceeds(now, old, 1);
	c.verdict = sign > 0				   ? VERDICT_MORE
		    : sign < 0				   ? VERDICT_LESS
		    : is_constant(old) && is_constant(now) ? VERDICT_SAME
							   : VERDICT_NO_DIFFERENCE;
	/* The limit is a fraction of |was|.  A negative mean rises towards 0. */
	if (!isnan(limit) && now->kind == SERIES_EVENT)
		c.above = c.verdict == VERDICT_MORE &&
			  exceeds(now, old, was < 0 ? 1 - limit : 1 + limit) > 0;
	return c;
}
