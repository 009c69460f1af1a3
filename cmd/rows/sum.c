/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sum.c - adds up the counts of rows of one set.
 */
#include "sum.h"

bool count_add(const struct run_event *event, uint64_t *to, uint64_t count)
{
	int64_t sum;

	if (!event->is_signed)
		return !__builtin_add_overflow(*to, count, to);
	if (__builtin_add_overflow((int64_t)*to, (int64_t)count, &sum))
		return false;
	*to = (uint64_t)sum;
	return true;
}

bool count_sub(const struct run_event *event, uint64_t *from, uint64_t count)
{
	int64_t rest;

	if (!event->is_signed)
		return !__builtin_sub_overflow(*from, count, from);
	if (__builtin_sub_overflow((int64_t)*from, (int64_t)count, &rest))
		return false;
	*from = (uint64_t)rest;
	return true;
}

static void add_span(struct sum *sum, const struct row *row)
{
	bool first = (sum->valid | sum->overflow) == 0;
	int64_t begin_ns = row->time_ns > row->span_ns ? row->time_ns - row->span_ns : 0;

	if (row->span_ns <= 0 || sum->span_ns < 0 ||
	    __builtin_add_overflow(sum->span_ns, row->span_ns, &sum->span_ns))
		sum->span_ns = sum->begin_ns = -1;
	else if (first || begin_ns < sum->begin_ns)
		sum->begin_ns = begin_ns;
	sum->end_ns = row->time_ns > sum->end_ns ? row->time_ns : sum->end_ns;
}

void sum_add(struct sum *sum, const struct run_set *set, const struct row *row)
{
	sum->all = sum->nrows++ == 0 ? row->valid : sum->all & row->valid;
	if (row->valid != 0) {
		add_span(sum, row);
		if (__builtin_add_overflow(sum->cycles, row->cycles, &sum->cycles))
			sum->overflow = UINT64_MAX;
	}
	for (unsigned i = 0; i < set->nevents; i++) {
		if ((row->valid >> i & 1) != 0 &&
		    !count_add(&set->event[i], &sum->val[i], row->val[i]))
			sum->overflow |= UINT64_C(1) << i;
	}
	sum->valid = (sum->valid | row->valid) & ~sum->overflow;
	sum->incomplete |= row->incomplete || sum->overflow != 0;
	if (__builtin_add_overflow(sum->late, row->late, &sum->late))
		sum->late = UINT64_MAX; /* only in forged records */
}

void sum_fill_row(const struct sum *sum, struct row *row)
{
	row->val = sum->val;
	row->valid = sum->valid;
	row->cycles = sum->cycles;
	row->incomplete = sum->incomplete;
	row->late = sum->late;
}
