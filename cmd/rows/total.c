/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * total.c - filters: one appends a total of all processes, one omits samples that counted nothing.
 */
#include "filters.h"

#include "sum.h"

struct total {
	struct sink sink;
	const struct run *run;
	struct {
		uint64_t nprocesses;
		struct sum sum;
	} * set;
	int64_t time_ns, wall_ns;
};

static void total_begin(struct sink *sink, const struct run *run)
{
	struct total *t = (struct total *)sink;

	t->run = run;
	free(t->set);
	t->set = xcalloc(run->nsets, sizeof(*t->set));
	t->time_ns = t->wall_ns = 0;
	sink_begin(sink->next, run);
}

static void total_row(struct sink *sink, const struct row *row)
{
	struct total *t = (struct total *)sink;

	t->time_ns = row->time_ns;
	t->wall_ns = row->wall_ns;
	if (row->kind == ROW_TOTAL && !t->run->of_cpus)
		return; /* the record was made with --total */
	if (row_is_program_total(row)) {
		t->set[row->set].nprocesses += row->kind != ROW_EXEC;
		sum_add(&t->set[row->set].sum, &t->run->set[row->set], row);
	}
	sink_row(sink->next, row);
}

static void total_end(struct sink *sink)
{
	struct total *t = (struct total *)sink;

	for (size_t k = 0; k < t->run->nsets && !t->run->of_cpus; k++) {
		const struct sum *sum = &t->set[k].sum;
		struct row row = {
			.kind = ROW_TOTAL,
			.time_ns = t->time_ns,
			.wall_ns = t->wall_ns,
			.set = k,
			.runs = t->set[k].nprocesses,
			.span_ns = sum->begin_ns >= 0 ? sum->end_ns - sum->begin_ns : 0,
		};

		sum_fill_row(sum, &row);
		row.incomplete |= t->run->incomplete;
		sink_row(sink->next, &row);
	}
	sink_end(sink->next);
}

static void total_free(struct sink *sink)
{
	free(((struct total *)sink)->set);
}

struct sink *total_open(struct sink *next)
{
	static const struct sink_ops ops = {
		.begin = total_begin, .row = total_row, .end = total_end, .free = total_free};

	return sink_new(sizeof(struct total), &ops, next);
}

struct changed {
	struct sink sink;
	const struct run *run;
};

static void changed_begin(struct sink *sink, const struct run *run)
{
	((struct changed *)sink)->run = run;
	sink_begin(sink->next, run);
}

static void changed_row(struct sink *sink, const struct row *row)
{
	unsigned nevents = ((struct changed *)sink)->run->set[row->set].nevents;
	bool changed = row->kind != ROW_TICK;

	for (unsigned i = 0; i < nevents && !changed; i++)
		changed = (row->valid >> i & 1) == 0 || row->val[i] != 0;
	if (changed)
		sink_row(sink->next, row);
}

struct sink *changed_open(struct sink *next)
{
	static const struct sink_ops ops = {.begin = changed_begin, .row = changed_row};

	return sink_new(sizeof(struct changed), &ops, next);
}
