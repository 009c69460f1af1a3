/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * view.c - the rows of the last interval, grouped and sorted for the screen.
 *
 * The rows of the interval are kept, so that the user can group them by something else.
 */
#include "view.h"

#include "../../base/util.h"
#include "../../rows/filters.h"

#include <stdlib.h>
#include <string.h>

/* The last sink of a chain of filters, which frees it. */
struct end {
	struct sink sink;
	struct view *view;
};

static void sample_row(struct sink *sink, const struct row *row)
{
	struct view *v = ((struct end *)sink)->view;

	if (!v->paused)
		rows_add(&v->sample, v->run, row);
}

static void grouped_row(struct sink *sink, const struct row *row)
{
	struct view *v = ((struct end *)sink)->view;

	if (row->set == v->set)
		rows_add(&v->grouped, v->run, row);
}

static struct sink *new_end(struct view *v, const struct sink_ops *ops)
{
	struct end *end = sink_new(sizeof(*end), ops, NULL);

	end->view = v;
	return &end->sink;
}

/* ---- groups --------------------------------------------------------------------------- */

static uint64_t biased(const struct run_event *event, uint64_t val)
{
	return event->is_signed ? val ^ UINT64_C(1) << 63 : val;
}

/* Largest first, unknown counts last; then by name and id. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	const struct view *v = arg;
	const struct run_event *event = &view_set(v)->event[v->sort];
	bool known = x->valid >> v->sort & 1;
	uint64_t m = biased(event, x->val[v->sort]), n = biased(event, y->val[v->sort]);
	const char *name = x->key != NULL ? x->key : x->comm;
	const char *other = y->key != NULL ? y->key : y->comm;
	int diff;

	if (known != (y->valid >> v->sort & 1))
		return known ? -1 : 1;
	if (known && m != n)
		return m > n ? -1 : 1;
	diff = name != NULL && other != NULL ? strcmp(name, other) : 0;
	if (diff == 0)
		diff = (x->id > y->id) - (x->id < y->id);
	if (diff == 0)
		diff = (x->pid > y->pid) - (x->pid < y->pid);
	return diff != 0 ? diff : (x->lwp > y->lwp) - (x->lwp < y->lwp);
}

void view_sort(struct view *v, int step)
{
	const struct run_event *event = view_set(v)->event;
	unsigned n = view_set(v)->nevents;
	double whole;

	v->sort = (v->sort + n + (unsigned)step) % n;
	if (view_is_empty(v))
		return;
	qsort_r(v->grouped.row, v->nrows, sizeof(*v->grouped.row), compare_rows, v);
	whole = count_real(&event[v->sort], v->total.val[v->sort]);
	for (size_t i = 0; i <= v->nrows; i++) {
		struct row *row = &v->grouped.row[i];

		row->shared = whole > 0 && (row->valid >> v->sort & 1) != 0;
		row->share =
			row->shared ? count_real(&event[v->sort], row->val[v->sort]) / whole : 0;
	}
	v->total = v->grouped.row[v->nrows];
}

void view_group(struct view *v, enum scope by)
{
	static const struct sink_ops ops = {.row = grouped_row};
	struct sink *end = new_end(v, &ops);
	struct sink *summary = summary_open(v->unfolded ? end : folded_open(end, v->cycles),
					    v->run->of_cpus ? SCOPE_CPU : by, 0);

	v->by = by;
	rows_clear(&v->grouped);
	sink_begin(summary, v->run);
	for (size_t i = 0; i < v->sample.n; i++)
		sink_row(summary, &v->sample.row[i]);
	sink_end(summary);
	sink_free(summary);
	for (size_t i = 0; i < v->grouped.n; i++)
		v->grouped.row[i].span_ns = v->span_ns;
	v->row = v->grouped.row;
	v->nrows = v->grouped.n - 1; /* the last one is the total */
	v->total = v->row[v->nrows];
	view_sort(v, 0);
}

/* ---- the interval ------------------------------------------------------------------------ */

void view_begin(struct view *v, const struct run *run)
{
	v->run = run;
	rows_clear(&v->sample);
	if (!run->of_cpus)
		deltas_begin(&v->deltas, run);
}

void view_put(struct view *v, const struct row *row)
{
	if (row->kind == ROW_TICK) {
		v->next_set = row->set;
		v->time_ns = row->time_ns;
	}
	if (row->kind == ROW_TICK && row->span_ns > v->longest_ns)
		v->longest_ns = row->span_ns;
	if (!v->run->of_cpus)
		deltas_add(&v->deltas, row);
	else if (row->kind == ROW_TICK && row->ncpus > 0 && !v->paused)
		rows_add(&v->sample, v->run, row);
}

bool view_sampled(struct view *v)
{
	bool shows;

	if (!v->run->of_cpus && !v->paused)
		rows_clear(&v->sample);
	if (!v->run->of_cpus)
		deltas_take(&v->deltas, v->taker);
	shows = !v->paused && v->sample.n > 0;
	if (shows) {
		/* Tick rows of LWPs can be of a part of the interval. */
		v->span_ns = v->run->of_cpus || v->last_ns == 0 ? v->longest_ns
								: v->time_ns - v->last_ns;
		v->set = v->next_set;
		if (v->sort >= view_set(v)->nevents)
			v->sort = 0;
		view_group(v, v->by);
	}
	if (v->run->of_cpus)
		rows_clear(&v->sample);
	v->last_ns = v->time_ns;
	v->longest_ns = 0;
	return shows;
}

void view_init(struct view *v, enum scope by, bool cycles)
{
	static const struct sink_ops sample = {.row = sample_row};

	*v = (struct view){.by = by, .cycles = cycles};
	v->taker = new_end(v, &sample);
}

void view_free(struct view *v)
{
	rows_free(&v->sample);
	rows_free(&v->grouped);
	deltas_clear(&v->deltas);
	sink_free(v->taker);
}
