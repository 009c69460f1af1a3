/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * intervals.c - a summary of each interval, then one of the whole run.
 *
 * There are two summaries: one gets all rows, the other one the counts of each interval
 * (deltas.h).
 */
#include "deltas.h"
#include "filters.h"

struct intervals {
	struct sink sink;     /* `next` makes the summary of the whole run */
	struct deltas deltas; /* of the current interval */
	struct sink *each;    /* makes the summaries of intervals */
	struct sink *out;     /* gets both */
	bool blocks;
	struct run run; /* of the interval, as `next` gets it */
};

/* Gets the summary of an interval. */
struct end {
	struct sink sink;
	struct intervals *to;
};

static void end_begin(struct sink *sink, const struct run *run)
{
	struct intervals *v = ((struct end *)sink)->to;

	v->run = *run;
	v->run.interval = true;
	if (v->blocks)
		sink_begin(v->out, &v->run);
}

static void end_row(struct sink *sink, const struct row *row)
{
	struct intervals *v = ((struct end *)sink)->to;
	struct row own = *row;

	if (!v->blocks)
		own.kind = ROW_TICK;
	if (v->blocks || row->kind == ROW_SUM)
		sink_row(v->out, &own);
}

static void end_end(struct sink *sink)
{
	struct intervals *v = ((struct end *)sink)->to;

	if (v->blocks)
		sink_end(v->out);
}

/* ---- the sink ---------------------------------------------------------------------------- */

static void intervals_begin(struct sink *sink, const struct run *run)
{
	struct intervals *v = (struct intervals *)sink;

	v->run.interval = false;
	sink_begin(sink->next, run);
	deltas_begin(&v->deltas, run);
}

static void intervals_row(struct sink *sink, const struct row *row)
{
	struct intervals *v = (struct intervals *)sink;

	sink_row(sink->next, row);
	deltas_add(&v->deltas, row);
}

static void end_interval(struct intervals *v)
{
	sink_begin(v->each, v->deltas.run);
	deltas_take(&v->deltas, v->each);
	sink_end(v->each);
}

static void intervals_sampled(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	end_interval(v);
	sink_sampled(v->out);
}

static void intervals_end(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	if (v->deltas.any)
		end_interval(v);
	if (v->blocks && v->run.interval) {
		v->run.interval = false;
		sink_begin(v->out, &v->run);
	}
	sink_end(sink->next);
}

static void intervals_free(struct sink *sink)
{
	struct intervals *v = (struct intervals *)sink;

	deltas_clear(&v->deltas);
	sink_free(v->each);
}

struct sink *intervals_open(struct sink *next, enum scope by, bool blocks)
{
	static const struct sink_ops ops = {.begin = intervals_begin,
					    .row = intervals_row,
					    .sampled = intervals_sampled,
					    .end = intervals_end,
					    .free = intervals_free};
	static const struct sink_ops end_ops = {.begin = end_begin, .row = end_row, .end = end_end};
	struct intervals *v = sink_new(sizeof(*v), &ops, summary_open(next, by, 0));
	struct end *end = sink_new(sizeof(*end), &end_ops, NULL);

	end->to = v;
	v->out = next;
	v->blocks = blocks;
	v->each = summary_open(&end->sink, by, 0);
	return &v->sink;
}
