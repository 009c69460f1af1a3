/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Series of values: medians, outliers, the tests of means and of ranks, and the verdicts.
 */
#include "unit.h"

#include "../../cmd/base/util.h"
#include "../../cmd/rows/ranks.h"
#include "../../cmd/rows/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct series none = {.kind = SERIES_EVENT};

#define SERIES(...)                                                   \
	{                                                             \
		.kind = SERIES_EVENT, .val = (double[]){__VA_ARGS__}, \
		.n = sizeof((double[]){__VA_ARGS__}) / sizeof(double) \
	}

static void near(double a, double b, double difference)
{
	if (!(fabs(a - b) <= difference))
		fail_msg("%.9g is not %.9g", a, b);
}

/* ---- the test of ranks ------------------------------------------------------------- */

/* Makes samples of `na` and `nb` different values with this `u`. */
static struct ranks of_u(size_t na, size_t nb, size_t u)
{
	double *val = xcalloc(na + nb, sizeof(*val));
	struct ranks r;

	for (size_t i = 0; i < nb; i++)
		val[na + i] = 10 * (double)(i + 1);
	for (size_t i = 0; i < na; i++) {
		size_t above = u < nb ? u : nb;

		val[i] = 10 * (double)above + 5 + (double)i / (double)na;
		u -= above;
	}
	r = ranks_test(val, na, &val[na], nb, 1);
	free(val);
	return r;
}

/* S. Siegel, Nonparametric Statistics for the Behavioral Sciences, 1956, tables J and K. */
static void published_tables(void **state)
{
	static const double of_3_3[] = {.050, .100, .200, .350, .500};
	static const double of_4_4[] = {.014, .029, .057, .100, .171, .243, .343, .443, .557};
	static const double of_5_5[] = {.004, .008, .016, .028, .048, .075, .111};
	static const struct {
		size_t na, nb, u; /* the largest u that is significant at 5 %, two-sided */
	} critical[] = {{4, 4, 0},    {5, 5, 2},   {6, 6, 5},	{8, 8, 13},    {10, 10, 23},
			{10, 20, 55}, {12, 9, 26}, {20, 9, 48}, {20, 20, 127}, {5, 10, 8}};

	(void)state;
	for (size_t u = 0; u < ARRAY_SIZE(of_3_3); u++)
		near(of_u(3, 3, u).less, of_3_3[u], .0005 + 1e-9);
	for (size_t u = 0; u < ARRAY_SIZE(of_4_4); u++)
		near(of_u(4, 4, u).less, of_4_4[u], .0005 + 1e-9);
	for (size_t u = 0; u < ARRAY_SIZE(of_5_5); u++)
		near(of_u(5, 5, u).less, of_5_5[u], .0005 + 1e-9);
	for (size_t i = 0; i < ARRAY_SIZE(critical); i++) {
		size_t na = critical[i].na, nb = critical[i].nb, u = critical[i].u;

		near(of_u(na, nb, u).u, (double)u, 0);
		assert_true(of_u(na, nb, u).less <= .025);
		assert_true(of_u(na, nb, u + 1).less > .025);
		near(of_u(na, nb, na * nb - u).more, of_u(na, nb, u).less, 1e-12);
	}
}

/* M. Hollander and D. Wolfe, Nonparametric Statistical Methods, 1973, page 69; as R shows it. */
static void published_example(void **state)
{
	static const double term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
	static const double early[] = {1.15, 0.88, 0.90, 0.74, 1.21};
	struct ranks r = ranks_test(term, 10, early, 5, 1);

	(void)state;
	near(r.u, 35, 0);
	near(r.more, 0.1272, .00005);
	r = ranks_test(early, 5, term, 10, 1);
	near(r.u, 15, 0);
	near(r.less, 0.1272, .00005);
}

/* The number of choices of `m` values with at most the sum of ranks, in halves. */
static unsigned choices(const double *val, size_t n, size_t m, double u, unsigned *total)
{
	unsigned at_most = 0;

	*total = 0;
	for (unsigned set = 0; set < 1U << n; set++) {
		double of_set = 0;

		if ((size_t)__builtin_popcount(set) != m)
			continue;
		++*total;
		for (size_t i = 0; i < n; i++) {
			for (size_t k = 0; k < n && set >> i & 1; k++)
				of_set += set >> k & 1	     ? 0
					  : val[i] == val[k] ? 0.5
							     : val[i] > val[k];
		}
		at_most += of_set <= u;
	}
	return at_most;
}

static void ties(void **state)
{
	static const double ones[] = {7, 7, 7, 7, 7};
	double val[12];
	unsigned word = 1, total, n;

	(void)state;
	/* 1 2 2 3 have the ranks 1, 2.5, 2.5, 4: the six sums are 3.5, 3.5, 5, 5, 6.5 and 6.5. */
	near(ranks_test((double[]){1, 2}, 2, (double[]){2, 3}, 2, 1).less, 2 / 6., 1e-12);
	near(ranks_test((double[]){1, 3}, 2, (double[]){2, 2}, 2, 1).less, 4 / 6., 1e-12);
	near(ranks_test(ones, 5, ones, 5, 1).less, 1, 0);
	near(ranks_test(ones, 5, ones, 5, 1).more, 1, 0);
	near(ranks_test(ones, 5, ones, 5, 1).u, 12.5, 0);
	/* 1.1 times 100 is not 110, but that is a tie. */
	near(ranks_test((double[]){110, 110}, 2, (double[]){100, 100}, 2, 1.1).u, 2, 0);
	/* All choices of 5 out of 12 values with ties, one after the other. */
	for (int round = 0; round < 20; round++) {
		struct ranks r;

		for (size_t i = 0; i < ARRAY_SIZE(val); i++) {
			word = word * 1103515245 + 12345;
			val[i] = word >> 16 & 3;
		}
		r = ranks_test(val, 5, val + 5, 7, 1);
		n = choices(val, 12, 5, r.u, &total);
		near(r.less, (double)n / total, 1e-12);
		r = ranks_test(val + 5, 7, val, 5, 1);
		near(r.more, (double)n / total, 1e-12);
	}
}

/* The largest that are counted exactly, and beyond. */
static void large_samples(void **state)
{
	double equal[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(equal); i++)
		equal[i] = 5;
	/* (1536 - 1250 - 0.5) / sqrt(50 * 50 * 101 / 12) = 1.96820, whose normal tail is 0.02452 */
	near(of_u(50, 50, 1536).more, .02452, .00001);
	near(of_u(50, 50, 2500 - 1536).less, .02452, .00001);
	near(ranks_test(equal, 100, equal + 100, 100, 1).more, 1, 0);
	near(ranks_test(equal, 30, equal + 30, 30, 1).more, 1, 0);
	/* The exact one and the approximation are close where they meet. */
	near(of_u(31, 31, 620).more, of_u(32, 32, 658).more, .002);
	assert_true(of_u(2, 998, 0).less > 0);
	near(of_u(2, 998, 0).less, 2 / (1000. * 999), 1e-12);
}

/* ---- medians and outliers ---------------------------------------------------------- */

static void medians(void **state)
{
	const struct series odd = SERIES(5, 1, 3), even = SERIES(4, 1, 3, 1000), one = SERIES(7);

	(void)state;
	near(series_median(&odd), 3, 0);
	near(series_median(&even), 3.5, 0);
	near(series_median(&one), 7, 0);
	assert_true(isnan(series_median(&none)));
	assert_int_equal((int)odd.val[0], 5); /* it is not sorted */
}

static void outliers(void **state)
{
	/* The median is 100, that of the deviations 1: the limit is 14.826 away. */
	struct series series = SERIES(100, 101, 99, 100, 102, 98, 100, 101, 99, 114);
	struct series equal = SERIES(1000, 1000, 1000, 1000, 1000, 1010);
	struct series zero = SERIES(0, 0, 0, 0, 0, 10), four = SERIES(100, 100, 100, 1000);

	(void)state;
	assert_int_equal(series_outliers(&series), 0);
	series.val[9] = 115;
	assert_int_equal(series_outliers(&series), 1);
	series.val[0] = 85;
	assert_int_equal(series_outliers(&series), 2);
	/* Equal values otherwise: outliers are away by more than 1 %, and by more than 10. */
	assert_int_equal(series_outliers(&equal), 0);
	equal.val[5] = 989;
	assert_int_equal(series_outliers(&equal), 1);
	assert_int_equal(series_outliers(&zero), 0);
	zero.val[5] = 11;
	assert_int_equal(series_outliers(&zero), 1);
	assert_int_equal(series_outliers(&four), 0);
	assert_int_equal(series_outliers(&none), 0);
	/* Times are no counts. */
	equal = (struct series)SERIES(0.01, 0.01, 0.01, 0.01, 0.01, 0.02);
	equal.kind = SERIES_TIME;
	assert_int_equal(series_outliers(&equal), 1);
}

/* ---- verdicts ---------------------------------------------------------------------- */

static const struct situation {
	const char *what;
	struct series old, now;
	enum verdict verdict;
	double limit; /* 0: none */
	bool above;
	double grown; /* in per cent */
} situations[] = {
	{"9 % more, and an outlier in new",
	 SERIES(1000, 1001, 999, 1000, 1002, 998, 1000, 1001, 999, 1000),
	 SERIES(1090, 1091, 1089, 1090, 1092, 1088, 1090, 1091, 1089, 5000), VERDICT_MORE, .03,
	 true, 9},
	{"9 % more, and an outlier in old",
	 SERIES(1000, 1001, 999, 1000, 1002, 998, 1000, 1001, 999, 5000),
	 SERIES(1090, 1091, 1089, 1090, 1092, 1088, 1090, 1091, 1089, 1090), VERDICT_MORE, .03,
	 true, 9},
	{"9 % less, and an outlier in each",
	 SERIES(1090, 1091, 1089, 1090, 1092, 1088, 1090, 1091, 1089, 5000),
	 SERIES(1000, 1001, 999, 1000, 1002, 998, 1000, 1001, 999, 9000), VERDICT_LESS, .03, false,
	 0},
	{"the same, and an outlier",
	 SERIES(1000, 1001, 999, 1000, 1002, 998, 1000, 1001, 999, 1000),
	 SERIES(1000, 1001, 999, 1000, 1002, 998, 1000, 1001, 999, 5000), VERDICT_NO_DIFFERENCE,
	 .03, false, 0},
	/* The medians are equal, but the mean grew by half: 4 of 8 more than 0 of 8. */
	{"some runs are slow", SERIES(100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
	 SERIES(100, 200, 100, 200, 100, 200, 100, 200, 100, 200, 100), VERDICT_MORE, .03, true,
	 45.454545},
	{"all equal", SERIES(7, 7, 7, 7), SERIES(7, 7, 7, 7), VERDICT_SAME, .03, false, 0},
	{"all zero", SERIES(0, 0, 0, 0), SERIES(0, 0, 0, 0), VERDICT_SAME, .03, false, 0},
	{"two runs, no spread", SERIES(1000, 1000), SERIES(1001, 1001), VERDICT_MORE, .03, false,
	 0},
	{"two runs, no spread, above", SERIES(1000, 1000), SERIES(1031, 1031), VERDICT_MORE, .03,
	 true, 3.1},
	{"two runs, some spread", SERIES(1000, 1001), SERIES(1100, 1300), VERDICT_NO_DIFFERENCE,
	 .03, false, 0},
	{"ten runs, no spread", SERIES(10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
	 SERIES(9, 9, 9, 9, 9, 9, 9, 9, 9, 9), VERDICT_LESS, .03, false, 0},
	/* 1.1 times 100 is more than 110 by rounding. */
	{"exactly the limit", SERIES(100, 100, 100, 100, 100), SERIES(110, 110, 110, 110, 110),
	 VERDICT_MORE, .1, false, 0},
	{"from 0", SERIES(0, 0, 0, 0), SERIES(1, 1, 1, 1), VERDICT_MORE, .03, true, NAN},
	{"negative: towards 0", SERIES(-100, -100, -100, -100), SERIES(-90, -90, -90, -90),
	 VERDICT_MORE, .05, true, 10},
	{"negative: within the limit", SERIES(-100, -100, -100, -100), SERIES(-90, -90, -90, -90),
	 VERDICT_MORE, .15, false, 0},
	/* 98 % of Student's t of 4 degrees are below 2.999; the means deviate by 0.8165. */
	{"three runs, t is 2.99", SERIES(1000, 1001, 1002), SERIES(1002.44, 1003.44, 1004.44),
	 VERDICT_NO_DIFFERENCE, 0, false, 0},
	{"three runs, t is 3.01", SERIES(1000, 1001, 1002), SERIES(1002.46, 1003.46, 1004.46),
	 VERDICT_MORE, 0, false, 0},
	/* One value is out of order: 2 / 70 is less than 4 %, and 4 / 70 is more. */
	{"four runs, apart, one far away", SERIES(1, 2, 3, 4), SERIES(5, 6, 7, 9000), VERDICT_MORE,
	 0, false, 0},
	{"four runs, not apart", SERIES(1, 2, 3, 6), SERIES(5, 7, 8, 9000), VERDICT_NO_DIFFERENCE,
	 0, false, 0},
	{"one run", SERIES(1), SERIES(5, 5), VERDICT_CANNOT_TELL, .03, false, 0},
	/* A report about benchstat: there was no difference, since one side has no spread. */
	{"one side has no spread", SERIES(115, 114, 115, 115), SERIES(78.8, 78.8, 78.8, 78.8),
	 VERDICT_LESS, .03, false, 0},
	/* About hyperfine: a job disturbed runs of 12.2 to 122 ms, and the mean was of no use. */
	{"a disturbance of both", SERIES(12.2, 12.3, 12.2, 12.4, 12.3, 122, 121, 12.2),
	 SERIES(13.4, 13.5, 13.4, 13.6, 13.5, 13.4, 13.5, 118), VERDICT_NO_DIFFERENCE, .03, false,
	 0},
	/* About a comparison of five runs that are apart: the exact probability is 2 / 252. */
	{"five runs, apart", SERIES(1000, 1005, 995, 1010, 990),
	 SERIES(1070, 1080, 1060, 1075, 1065), VERDICT_MORE, .03, true, 7},
	/* About criterion: the same code, which was 3.3 % slower by chance in a night. */
	{"noise above the limit", SERIES(970, 1082, 936, 1024, 1006, 980, 1060, 910, 1040, 992),
	 SERIES(1095, 951, 1109, 973, 1071, 963, 1137, 987, 1065, 979), VERDICT_NO_DIFFERENCE, .03,
	 false, 0},
};

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(situations); i++) {
		const struct situation *s = &situations[i];
		struct comparison c =
			series_compare(&s->old, &s->now, s->limit > 0 ? s->limit : NAN);

		if (c.verdict != s->verdict || c.above != s->above)
			fail_msg("%s: %s%s", s->what, verdict_name(c.verdict),
				 c.above ? ", above" : "");
		if (c.above && isnan(s->grown))
			assert_true(isnan(c.grown));
		else if (c.above)
			near(100 * c.grown, s->grown, 1e-5);
	}
}

/* About benchmark.js: more than 30 runs of the same program always differed. */
static void many_equal_runs(void **state)
{
	double val[2][200];
	struct series old = {.kind = SERIES_EVENT, .val = val[0]}, now = old;

	(void)state;
	now.val = val[1];
	for (size_t i = 0; i < ARRAY_SIZE(val[0]); i++) {
		val[0][i] = 1000 + (double)(i % 10);
		val[1][i] = 1000 + (double)((i + 5) % 10);
	}
	for (old.n = now.n = 2; old.n < ARRAY_SIZE(val[0]); old.n = ++now.n) {
		if (old.n % 10 == 0)
			assert_int_equal(series_compare(&old, &now, .03).verdict,
					 VERDICT_NO_DIFFERENCE);
		assert_false(series_compare(&old, &now, .03).above);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_tables),
		cmocka_unit_test(published_example),
		cmocka_unit_test(ties),
		cmocka_unit_test(large_samples),
		cmocka_unit_test(medians),
		cmocka_unit_test(outliers),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(many_equal_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
