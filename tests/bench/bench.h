/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * bench.h - clocks, and medians over rounds.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MAX_ROUNDS 1001

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts them. */
static inline double median(double *value, size_t n)
{
	qsort(value, n, sizeof(*value), by_value);
	return n % 2 != 0 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
}

#endif /* BENCH_H */
