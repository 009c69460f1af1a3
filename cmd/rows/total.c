/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * total.c - filters before a writer: a total of all processes, and no rows of nothing.
 */
#include "total.h"

#include "../base/util.h"

#include <stdlib.h>

struct sum {
	uint64_t runs;
	struct counts counts;
	bool incomplete;
	int64_t begin_ns, end_ns; /* of all that is in it; `begin_ns` -1: not known */
};

struct filter {
	struct sink sink, *next;
	const struct run *run;
	struct sum *sum; /* by set */
	int64_t time_ns, wall_ns;
};

static void begin(struct sink *sink, const struct run *run)
{
	struct filter *f = (struct filter *)sink;

	f->run = run;
	free(f->sum);
	f->sum = xcalloc(run->nsets, sizeof(*f->sum));
	f->time_ns = f->wall_ns = 0;
	sink_begin(f->next, run);
}

static void add_span(struct sum *sum, const struct row *row)
{
	int64_t begin = row->time_ns - row->span_ns;

	if (row->valid == 0)
		return;
	if (row->span_ns <= 0)
		sum->begin_ns = -1;
	else if (sum->end_ns == 0 || (sum->begin_ns >= 0 && begin < sum->begin_ns))
		sum->begin_ns = begin > 0 ? begin : 0;
	sum->end_ns = row->time_ns > sum->end_ns ? row->time_ns : sum->end_ns;
}

static void add_and_put(struct sink *sink, const struct row *row)
{
	struct filter *f = (struct filter *)sink;
	struct sum *sum = &f->sum[row->set];
	bool over = row->kind == ROW_EXIT || row->kind == ROW_DETACH;

	f->time_ns = row->time_ns;
	f->wall_ns = row->wall_ns;
	if (row->kind == ROW_TOTAL && !f->run->of_cpus)
		return; /* of a record that has one */
	if (row->kind == ROW_EXEC || over) {
		sum->runs += over;
		sum->incomplete |= row->incomplete;
		counts_add(&sum->counts, &f->run->set[row->set], row->val, row->valid, row->cycles);
		add_span(sum, row);
	}
	sink_row(f->next, row);
}

static void put_if_changed(struct sink *sink, const struct row *row)
{
	struct filter *f = (struct filter *)sink;
	unsigned nevents = f->run->set[row->set].nevents;
	bool changed = row->kind != ROW_TICK;

	for (unsigned i = 0; i < nevents && !changed; i++)
		changed = (row->valid >> i & 1) == 0 || row->val[i] != 0;
	if (changed)
		sink_row(f->next, row);
}

static void sampled(struct sink *sink)
{
	sink_sampled(((struct filter *)sink)->next);
}

static void end(struct sink *sink)
{
	sink_end(((struct filter *)sink)->next);
}

static void put_totals(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;

	for (size_t k = 0; k < f->run->nsets && !f->run->of_cpus; k++) {
		const struct sum *sum = &f->sum[k];
		const struct row row = {
			.kind = ROW_TOTAL,
			.time_ns = f->time_ns,
			.wall_ns = f->wall_ns,
			.set = k,
			.runs = sum->runs,
			.val = sum->counts.val,
			.valid = sum->counts.valid,
			.cycles = sum->counts.cycles,
			.span_ns = sum->begin_ns >= 0 ? sum->end_ns - sum->begin_ns : 0,
			.incomplete = sum->incomplete || sum->counts.lost != 0 || f->run->lacks,
		};

		sink_row(f->next, &row);
	}
	end(sink);
}

static void filter_free(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;

	sink_free(f->next);
	free(f->sum);
	free(f);
}

static struct sink *new_filter(struct sink *next, const struct sink_ops *ops)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->sink.ops = ops;
	f->next = next;
	return &f->sink;
}

struct sink *total_open(struct sink *next)
{
	static const struct sink_ops ops = {.begin = begin,
					    .row = add_and_put,
					    .sampled = sampled,
					    .end = put_totals,
					    .free = filter_free};

	return new_filter(next, &ops);
}

struct sink *changed_open(struct sink *next)
{
	static const struct sink_ops ops = {.begin = begin,
					    .row = put_if_changed,
					    .sampled = sampled,
					    .end = end,
					    .free = filter_free};

	return new_filter(next, &ops);
}
