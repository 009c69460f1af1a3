/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ranks.h - the Mann-Whitney U test: do values of two samples differ in rank?
 */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

/* The test of a sample against another one; a tie counts as a half. */
struct ranks {
	double u;    /* the pairs in which the value of the first sample is the larger one */
	double more; /* the probability of such a u, or a larger one, by chance */
	double less; /* of such a u, or a smaller one */
};

/* Each value of `b` is multiplied by `factor`.  Both samples have values. */
struct ranks ranks_test(const double *a, size_t na, const double *b, size_t nb, double factor);

#endif /* RANKS_H */
