/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ranks.c - the Mann-Whitney U test.
 *
 * Values of both samples are ranked together; equal ones get the mean of their ranks.  If the
 * samples do not differ, each choice of ranks for the first one is equally likely.  All these
 * choices are counted, with ties as they are: so the probabilities hold for every distribution of
 * values.  Large samples use the normal approximation.
 */
#include "ranks.h"

#include "../base/util.h"

#include <math.h>
#include <stdlib.h>

/* The most to count exactly, smaller sample times all values: 5 ms. */
#define MAX_EXACT 2000

struct ranked {
	double val;
	size_t twice; /* the rank, times two: a mean of ranks can be a half */
	bool chosen;  /* of the sample whose ranks are added up */
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->val > y->val) - (x->val < y->val);
}

/* Values are equal, too, if only the rounding of a factor can be the difference. */
static bool is_tie(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(a);
}

/* Sorts and ranks the values.  Returns the sum of t^3 - t over groups of t equal values. */
static double rank_all(struct ranked *all, size_t n)
{
	double ties = 0;
	size_t end;

	qsort(all, n, sizeof(*all), by_value);
	for (size_t i = 0; i < n; i = end) {
		double t;

		for (end = i + 1; end < n && is_tie(all[i].val, all[end].val); end++)
			;
		for (size_t k = i; k < end; k++)
			all[k].twice = i + 1 + end;
		t = (double)(end - i);
		ties += t * t * t - t;
	}
	return ties;
}

/* Sets the probabilities of at most, and of at least, the sum `twice` of `m` of the ranks. */
static void count_choices(struct ranks *r, const struct ranked *all, size_t n, size_t m,
			  size_t twice)
{
	const size_t width = 2 * m * n + 1;
	double *count = xcalloc((m + 1) * width, sizeof(*count)), *of_m = &count[m * width];
	double less = 0, more = 0, total = 0;

	/* count[k * width + sum]: the choices of k of the ranks so far with this sum */
	count[0] = 1;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1 < m ? i + 1 : m; k > 0; k--) {
			const double *from = &count[(k - 1) * width];
			double *to = &count[k * width + all[i].twice];

			for (size_t sum = 0; sum <= 2 * (k - 1) * n; sum++)
				to[sum] += from[sum];
		}
	}
	for (size_t sum = 0; sum < width; sum++) {
		total += of_m[sum];
		less += sum <= twice ? of_m[sum] : 0;
		more += sum >= twice ? of_m[sum] : 0;
	}
	r->less = less / total;
	r->more = more / total;
	free(count);
}

/* The normal distribution, with the corrections for ties and for continuity. */
static void approximate(struct ranks *r, double na, double nb, double ties)
{
	double n = na + nb, away = r->u - na * nb / 2;
	double deviation = sqrt(na * nb / 12 * (n + 1 - ties / (n * (n - 1))));

	r->less = r->more = 1;
	if (deviation == 0)
		return;
	r->less = erfc(-(away + 0.5) / deviation / sqrt(2)) / 2;
	r->more = erfc((away - 0.5) / deviation / sqrt(2)) / 2;
}

struct ranks ranks_test(const double *a, size_t na, const double *b, size_t nb, double factor)
{
	const size_t n = na + nb, m = na < nb ? na : nb;
	struct ranked *all = xcalloc(n, sizeof(*all));
	struct ranks r = {0};
	size_t sum_a = 0;
	double ties;

	/* The ranks of the smaller sample are added up. */
	for (size_t i = 0; i < na; i++)
		all[i] = (struct ranked){.val = a[i], .chosen = true};
	for (size_t i = 0; i < nb; i++)
		all[na + i] = (struct ranked){.val = factor * b[i]};
	ties = rank_all(all, n);
	for (size_t i = 0; i < n; i++)
		sum_a += all[i].chosen ? all[i].twice : 0;
	r.u = (double)(sum_a - na * (na + 1)) / 2;
	if (m * n > MAX_EXACT) {
		approximate(&r, (double)na, (double)nb, ties);
	} else if (na <= nb) {
		count_choices(&r, all, n, m, sum_a);
	} else {
		/* Many pairs in which `b` is larger are few in which `a` is. */
		count_choices(&r, all, n, m, n * (n + 1) - sum_a);
		r = (struct ranks){.u = r.u, .more = r.less, .less = r.more};
	}
	free(all);
	return r;
}
