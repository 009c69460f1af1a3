/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * series.c - the values of an event in several runs, and the comparison of two such series.
 *
 * Two tests compare series, both two-sided and at a level of 4 %, so that about 5 % of comparisons
 * of the same program show a difference by either of them.  Welch's t-test compares the means, and
 * allows for different variances and numbers of runs.  But a single outlier hides any difference
 * from it.  The test of ranks ignores how far an outlier is away.  But it misses what only few runs
 * have.
 */
#include "series.h"

#include "../base/util.h"
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each test: how often it reports a difference between runs of the same program. */
#define LEVEL 0.04
/* Of fewer runs, too many would be outliers by chance. */
#define MIN_FOR_OUTLIERS 5

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

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts the values. */
static double median_of(double *val, size_t n)
{
	if (n == 0)
		return NAN;
	qsort(val, n, sizeof(*val), by_value);
	return n % 2 != 0 ? val[n / 2] : val[n / 2 - 1] + (val[n / 2] - val[n / 2 - 1]) / 2;
}

double series_median(const struct series *series)
{
	double *val = xcalloc(series->n + 1, sizeof(*val)), median;

	for (size_t i = 0; i < series->n; i++)
		val[i] = series->val[i];
	median = median_of(val, series->n);
	free(val);
	return median;
}

/* The least spread that counts: 0.1 % of the median, and one of what is counted. */
static double least_spread(const struct series *series, double median)
{
	return fmax(fabs(median) / 1000, series->kind == SERIES_EVENT ? 1 : 0);
}

size_t series_outliers(const struct series *series)
{
	double *away = xcalloc(series->n + 1, sizeof(*away)), median = series_median(series);
	double spread;
	size_t n = 0;

	for (size_t i = 0; i < series->n; i++)
		away[i] = fabs(series->val[i] - median);
	/* 1.4826 makes it the standard deviation, if the distribution is normal. */
	spread = fmax(1.4826 * median_of(away, series->n), least_spread(series, median));
	for (size_t i = 0; i < series->n; i++)
		n += away[i] > 10 * spread;
	free(away);
	return series->n >= MIN_FOR_OUTLIERS ? n : 0;
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

/* The 98 % quantile of Student's t, of the next lower number of degrees in the table. */
static double student(double degrees)
{
	static const struct {
		double degrees, t;
	} table[] = {
		{1, 15.895}, {2, 4.849},   {3, 3.482},	  {4, 2.999},  {5, 2.757},  {6, 2.612},
		{7, 2.517},  {8, 2.449},   {9, 2.398},	  {10, 2.359}, {12, 2.303}, {14, 2.264},
		{16, 2.235}, {18, 2.214},  {20, 2.197},	  {25, 2.167}, {30, 2.147}, {40, 2.123},
		{60, 2.099}, {120, 2.076}, {1000, 2.056},
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
static int mean_exceeds(const struct series *now, const struct series *old, double factor)
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

/* As mean_exceeds(), by the ranks of the values.  `*p`: the probability of this difference. */
static int ranks_exceed(const struct series *now, const struct series *old, double factor,
			double *p)
{
	struct ranks r = ranks_test(now->val, now->n, old->val, old->n, factor);

	*p = fmin(1, 2 * fmin(r.more, r.less));
	return *p > LEVEL ? 0 : r.more < r.less ? 1 : -1;
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

/* The growth as a part of the old value; NaN: unknown. */
static double change(double old, double now)
{
	return old != 0 ? (now - old) / fabs(old) : (double)NAN;
}

/* Checks an event against a limit, a part of the old value.  A negative value rises towards 0. */
static void check_limit(struct comparison *c, const struct series *old, const struct series *now,
			double limit)
{
	double mean = series_mean(old) < 0 ? 1 - limit : 1 + limit;
	double median = series_median(old) < 0 ? 1 - limit : 1 + limit, p;

	if (ranks_exceed(now, old, 1, &p) > 0 && ranks_exceed(now, old, median, &p) > 0)
		c->grown = c->median_change;
	else if (mean_exceeds(now, old, 1) > 0 && mean_exceeds(now, old, mean) > 0)
		c->grown = c->change;
	else
		return;
	c->above = true;
	c->verdict = VERDICT_MORE;
}

struct comparison series_compare(const struct series *old, const struct series *now, double limit)
{
	struct comparison c = {
		.reason = obstacle(old, now),
		.change = change(series_mean(old), series_mean(now)),
		.median_change = change(series_median(old), series_median(now)),
		.p = NAN,
	};
	int sign;

	if (c.reason != NULL) {
		c.verdict = VERDICT_CANNOT_TELL;
		return c;
	}
	sign = ranks_exceed(now, old, 1, &c.p);
	if (sign == 0)
		sign = mean_exceeds(now, old, 1);
	c.verdict = sign > 0				   ? VERDICT_MORE
		    : sign < 0				   ? VERDICT_LESS
		    : is_constant(old) && is_constant(now) ? VERDICT_SAME
							   : VERDICT_NO_DIFFERENCE;
	if (!isnan(limit) && now->kind == SERIES_EVENT)
		check_limit(&c, old, now, limit);
	return c;
}
