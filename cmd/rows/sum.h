/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sum.h - adds up the counts of rows of one set.
 */
#ifndef SUM_H
#define SUM_H

#include "row.h"

/* Initialize it with zeros. */
struct sum {
	unsigned nrows;
	uint64_t valid;	   /* bit i: some row has event i, and val[i] is in range */
	uint64_t all;	   /* bit i: all rows have it */
	uint64_t overflow; /* bit i: val[i] went out of range */
	uint64_t cycles, val[RUN_MAX_EVENTS];
	bool incomplete; /* a row was incomplete, or something went out of range */
	uint64_t late;
	int64_t span_ns;  /* the sum of the rows' spans; -1: one of them is unknown */
	int64_t begin_ns; /* when the first of these spans began; -1 likewise */
	int64_t end_ns;	  /* time of the last row with counts */
};

void sum_add(struct sum *sum, const struct run_set *set, const struct row *row);

/* Sets val, valid, cycles, incomplete and late of a row. */
void sum_fill_row(const struct sum *sum, struct row *row);

/* Add or subtract one count.  False: the result is out of range, and the count is unchanged. */
bool count_add(const struct run_event *event, uint64_t *to, uint64_t count);
bool count_sub(const struct run_event *event, uint64_t *from, uint64_t count);

#endif /* SUM_H */
