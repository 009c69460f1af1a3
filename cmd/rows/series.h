/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * series.h - the values of an event in several runs, and the comparison of two such series.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stddef.h>

enum series_kind { SERIES_EVENT, SERIES_RATIO, SERIES_TIME };

/* The counts of an event in each run, the values of a ratio, or the times. */
struct series {
	char *label;
	enum series_kind kind;
	char *unit;   /* "": a plain number */
	bool clock;   /* the unit is nanoseconds on a CPU */
	size_t n;     /* the runs with a value */
	double *val;  /* in the order of the runs, in `unit` */
	bool missing; /* some run has no value */
	bool incomplete;
	bool turns; /* in some run it counted only a part of the time */
};

void series_add(struct series *series, double val);
void series_free(struct series *series);

/* NaN: there is no value. */
double series_mean(const struct series *series);
double series_median(const struct series *series);
double series_least(const struct series *series);
double series_most(const struct series *series);
/* The standard deviation of a sample, which divides by n - 1.  NaN: there are less than two values.
 */
double series_deviation(const struct series *series);

/*
 * The number of values that are more than 10 standard deviations away from the median, as the
 * median of the absolute deviations estimates them.
 */
size_t series_outliers(const struct series *series);

enum verdict {
	VERDICT_SAME, /* all values of both series are equal */
	VERDICT_MORE,
	VERDICT_LESS,
	VERDICT_NO_DIFFERENCE,
	VERDICT_CANNOT_TELL
};

/* For machines: 15 digits, or 17 if these are needed to read the same number again. */
#define REAL_SIZE 32
void real_text(char text[REAL_SIZE], double val);

const char *verdict_name(enum verdict verdict);

struct comparison {
	enum verdict verdict;
	const char *reason; /* of VERDICT_CANNOT_TELL; else NULL */
	double change;	    /* of the mean, as a part of the old one; NaN: unknown */
	double median_change;
	double p;     /* of the test of ranks: how likely is such a difference by chance?  Or NaN */
	bool above;   /* it grew by more than the limit */
	double grown; /* if so: by which part, in the test that shows it; NaN: from 0 */
};

/*
 * Compares the runs of an event with old ones.  `limit`: the part of the old value by which the
 * event may grow; NaN: there is no limit.
 */
struct comparison series_compare(const struct series *old, const struct series *now, double limit);

#endif /* SERIES_H */
