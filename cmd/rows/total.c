/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * total.c - filters before a writer: a total of all processes, no rows without counts.
 */
#include "total.h"

#include "../base/util.h"
#include "sum.h"

#include <stdlib.h>

struct total {
	uint64_t nprocesses;
	struct sum sum;
};

struct filter {
	struct sink sink, *next;
	const struct run *run;
	struct total *total; /* by set */
	int64_t time_ns, wall_ns;
};

static void begin(struct sink *sink, const struct run *run)
{
	struct filter *f = (struct filter *)sink;

	f->run = run;
	free(f->total);
	f->total = xcalloc(run->nsets, sizeof(*f->total));
	f->time_ns = f->wall_ns = 0;
	sink_begin(f->next, run);
}

static void add_and_put(struct sink *sink, const struct row *row)
{
	struct filter *f = (struct filter *)sink;
	struct total *total = &f->total[row->set];

	f->time_ns = row->time_ns;
	f->wall_ns = row->wall_ns;
	if (row->kind == ROW_TOTAL && !f->run->of_cpus)
		return; /* the record was made with --total */
	if (row_is_program_total(row)) {
		total->nprocesses += row->kind != ROW_EXEC;
		sum_add(&total->sum, &f->run->set[row->set], row);
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
		const struct sum *sum = &f->total[k].sum;
		struct row row = {
			.kind = ROW_TOTAL,
			.time_ns = f->time_ns,
			.wall_ns = f->wall_ns,
			.set = k,
			.runs = f->total[k].nprocesses,
			.span_ns = sum->begin_ns >= 0 ? sum->end_ns - sum->begin_ns : 0,
		};

		sum_fill_row(sum, &row);
		row.incomplete |= f->run->lacks;
		sink_row(f->next, &row);
	}
	end(sink);
}

static void filter_free(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;

	sink_free(f->next);
	free(f->total);
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
