/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * intervals.c - a summary of each interval, then that of the whole run.
 *
 * All rows go to two summaries: to that of the whole run, and by deltas.c to that of the interval.
 */
#include "intervals.h"

#include "../base/util.h"
#include "deltas.h"
#include "summary.h"

struct intervals {
	struct sink sink, *next;
	struct sink *whole, *each; /* the summaries; each has an end below */
	bool blocks;
	struct run run;		     /* of the interval, as `next` gets it */
	const struct run *whole_run; /* of the summary at the end */
};

/* Where a summary goes. */
struct end {
	struct sink sink;
	struct intervals *to;
};

static struct intervals *of_end(struct sink *sink)
{
	return ((struct end *)sink)->to;
}

/* ---- the summary of an interval ------------------------------------------------------ */

static void each_begin(struct sink *sink, const struct run *run)
{
	struct intervals *v = of_end(sink);

	v->run = *run;
	v->run.interval = true;
	if (v->blocks)
		sink_begin(v->next, &v->run);
}

static void each_row(struct sink *sink, const struct row *row)
{
	struct intervals *v = of_end(sink);
	struct row own = *row;

	if (v->blocks) {
		sink_row(v->next, row);
	} else if (row->kind == ROW_SUM) {
		own.kind = ROW_TICK;
		sink_row(v->next, &own);
	}
}

static void each_end(struct sink *sink)
{
	struct intervals *v = of_end(sink);

	if (v->blocks)
		sink_end(v->next);
}

/* ---- the summary of the whole run ------------------------------------------------------ */

static void whole_begin(struct sink *sink, const struct run *run)
{
	struct intervals *v = of_end(sink);

	v->whole_run = run;
	if (!v->blocks)
		sink_begin(v->next, run);
}

static void whole_row(struct sink *sink, const struct row *row)
{
	sink_row(of_end(sink)->next, row);
}

static void whole_end(struct sink *sink)
{
	sink_end(of_end(sink)->next);
}

static struct sink *new_end(struct intervals *v, const struct sink_ops *ops)
{
	struct end *end = xcalloc(1, sizeof(*end));

	end->sink.ops = ops;
	end->to = v;
	return &end->sink;
}

/* ---- the sink ---------------------------------------------------------------------------- */

static void intervals_begin(struct sink *sink, const struct run *run)
{
	struct intervals *v = (struct intervals *)sink;

	sink_begin(v->whole, run);
	sink_begin(v->each, run);
}

static void intervals_row(struct sink *sink, const struct row *row)
{
	struct intervals *v = (struct intervals *)sink;

	sink_row(v->whole, row);
	sink_row(v->each, row);
}

static void intervals_sampled(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	sink_sampled(v->each);
	sink_sampled(v->next);
}

static void intervals_end(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	sink_end(v->each);
	if (v->blocks)
		sink_begin(v->next, v->whole_run);
	sink_end(v->whole);
}

static void intervals_free(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	sink_free(v->each);
	sink_free(v->whole);
	sink_free(v->next);
	free(v);
}

struct sink *intervals_open(struct sink *next, enum row_by by, bool blocks)
{
	static const struct sink_ops ops = {.begin = intervals_begin,
					    .row = intervals_row,
					    .sampled = intervals_sampled,
					    .end = intervals_end,
					    .free = intervals_free};
	static const struct sink_ops each = {.begin = each_begin, .row = each_row, .end = each_end};
	static const struct sink_ops whole = {
		.begin = whole_begin, .row = whole_row, .end = whole_end};
	struct intervals *v = xcalloc(1, sizeof(*v));

	v->sink.ops = &ops;
	v->next = next;
	v->blocks = blocks;
	v->each = deltas_open(summary_open(new_end(v, &each), by, 0));
	v->whole = summary_open(new_end(v, &whole), by, 0);
	return &v->sink;
}
