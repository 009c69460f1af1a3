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

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sink of a chain of filters, which frees it. */
struct part {
	struct sink sink;
	struct view *view;
};

static struct sink *new_part(struct view *v, const struct sink_ops *ops, struct sink *next)
{
	struct part *part = sink_new(sizeof(*part), ops, next);

	part->view = v;
	return &part->sink;
}

static void sample_row(struct sink *sink, const struct row *row)
{
	struct view *v = ((struct part *)sink)->view;

	if (!v->frozen)
		rows_add(&v->sample, v->run, row);
}

/* ---- groups --------------------------------------------------------------------------- */

static bool matches(const struct view *v, const struct row *row)
{
	const char *name = row->key != NULL ? row->key : row->comm;
	char id[16];

	if (name == NULL && v->run->of_cpus) {
		snprintf(id, sizeof(id), "%d", row->id);
		name = id;
	}
	return strcasestr(name != NULL ? name : "", v->filter) != NULL;
}

static void filter_row(struct sink *sink, const struct row *row)
{
	const struct view *v = ((struct part *)sink)->view;

	if (row->kind != ROW_SUM || *v->filter == '\0' || matches(v, row))
		sink_row(sink->next, row);
}

static void grouped_row(struct sink *sink, const struct row *row)
{
	struct view *v = ((struct part *)sink)->view;

	if (row->set == v->set)
		rows_add(&v->grouped, v->run, row);
}

static uint64_t biased(const struct run_event *event, uint64_t val)
{
	return event->is_signed ? val ^ UINT64_C(1) << 63 : val;
}

/* These two: largest first, unknown ones last. */
static int compare_counts(const struct view *v, const struct row *x, const struct row *y)
{
	const unsigned i = v->sort.i;
	const struct run_event *event = &view_set(v)->event[i];
	bool known = x->valid >> i & 1;
	uint64_t m = biased(event, x->val[i]), n = biased(event, y->val[i]);

	if (known != (y->valid >> i & 1))
		return known ? -1 : 1;
	return known ? (m < n) - (m > n) : 0;
}

static int compare_ratios(const struct view *v, const struct row *x, const struct row *y)
{
	const double m = row_ratio(v->run, x, v->sort.i), n = row_ratio(v->run, y, v->sort.i);

	if (isnan(m) != isnan(n))
		return isnan(m) ? 1 : -1;
	return (m < n) - (m > n);
}

static int compare_names(const struct row *x, const struct row *y)
{
	const char *name = x->key != NULL ? x->key : x->comm;
	const char *other = y->key != NULL ? y->key : y->comm;

	return name != NULL && other != NULL ? strcmp(name, other) : 0;
}

/* By the chosen column; then by name and id.  The idle ones are last. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	const struct view *v = arg;
	int diff = 0;

	if (x->folded != y->folded)
		return x->folded ? 1 : -1;
	if (v->sort.kind == COLUMN_EVENT)
		diff = compare_counts(v, x, y);
	else if (v->sort.kind == COLUMN_RATIO)
		diff = compare_ratios(v, x, y);
	else if (v->sort.kind == COLUMN_RUNS)
		diff = (x->runs < y->runs) - (x->runs > y->runs);
	else if (v->sort.kind == COLUMN_PID)
		diff = (x->pid > y->pid) - (x->pid < y->pid);
	else if (v->sort.kind == COLUMN_LWP)
		diff = (x->tid > y->tid) - (x->tid < y->tid);
	if (diff == 0)
		diff = compare_names(x, y);
	if (diff == 0)
		diff = (x->id > y->id) - (x->id < y->id);
	if (diff == 0)
		diff = (x->pid > y->pid) - (x->pid < y->pid);
	return diff != 0 ? diff : (x->lwp > y->lwp) - (x->lwp < y->lwp);
}

void view_sort(struct view *v, struct sort_key sort)
{
	const struct run_event *event;
	double whole;

	v->sort = sort;
	if (sort.kind == COLUMN_EVENT)
		v->share = sort.i;
	if (view_is_empty(v))
		return;
	qsort_r(v->grouped.row, v->nrows, sizeof(*v->grouped.row), compare_rows, v);
	event = &view_set(v)->event[v->share];
	whole = count_real(event, v->total.val[v->share]);
	for (size_t i = 0; i <= v->nrows; i++) {
		struct row *row = &v->grouped.row[i];

		row->shared = whole > 0 && (row->valid >> v->share & 1) != 0;
		row->share = row->shared ? count_real(event, row->val[v->share]) / whole : 0;
	}
	v->total = v->grouped.row[v->nrows];
}

void view_sort_next(struct view *v, int step)
{
	const unsigned nevents = view_set(v)->nevents, n = nevents + view_set(v)->nratios;
	const unsigned now = v->sort.kind == COLUMN_EVENT   ? v->sort.i
			     : v->sort.kind == COLUMN_RATIO ? nevents + v->sort.i
							    : v->share;
	const unsigned next = (now + n + (unsigned)step) % n;

	view_sort(v, next < nevents ? (struct sort_key){COLUMN_EVENT, next}
				    : (struct sort_key){COLUMN_RATIO, next - nevents});
}

/* Are the rows of CPUs, not of keys? */
static bool has_cpus(const struct view *v)
{
	return v->run->of_cpus && !scope_has_keys(v->run->scope);
}

bool view_can_group(const struct view *v, enum scope by)
{
	if (v->run->of_cpus)
		return has_cpus(v) && by >= SCOPE_CPU && by <= SCOPE_ALL;
	return by == SCOPE_LWP || by == SCOPE_PROCESS || by == SCOPE_COMMAND ||
	       (scope_has_keys(v->run->scope) && (by == v->run->scope || by == SCOPE_USER));
}

void view_group(struct view *v, enum scope by)
{
	static const struct sink_ops ops = {.row = grouped_row}, filter = {.row = filter_row};
	struct sink *chain = new_part(v, &ops, NULL);

	v->by = by;
	if (!v->unfolded)
		chain = folded_open(chain, v->cycles);
	chain = new_part(v, &filter, chain);
	chain = summary_open(chain, v->run->of_cpus ? SCOPE_CPU : by, 0);
	if (has_cpus(v) && by > SCOPE_CPU)
		chain = aggregate_open(chain, by, NULL);
	rows_clear(&v->grouped);
	sink_begin(chain, v->run);
	for (size_t i = 0; i < v->sample.n; i++)
		sink_row(chain, &v->sample.row[i]);
	sink_sampled(chain);
	sink_end(chain);
	sink_free(chain);
	for (size_t i = 0; i < v->grouped.n; i++)
		v->grouped.row[i].span_ns = v->span_ns;
	v->row = v->grouped.row;
	v->nrows = v->grouped.n - 1; /* the last one is the total */
	v->total = v->row[v->nrows];
	view_sort(v, v->sort);
}

/* ---- the interval ------------------------------------------------------------------------ */

void view_begin(struct view *v, const struct run *run)
{
	v->run = run;
	v->total = (struct row){0}; /* the view is empty */
	v->set = v->next_set = v->nrows = 0;
	v->time_ns = v->last_ns = v->longest_ns = 0;
	v->over = v->frozen = false;
	v->sort = (struct sort_key){COLUMN_EVENT, 0};
	v->share = 0;
	rows_clear(&v->sample);
	rows_clear(&v->grouped);
	if (run->of_cpus)
		v->by = scope_has_keys(run->scope) || !view_can_group(v, v->by) ? run->scope
										: v->by;
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
	if (!v->run->of_cpus) {
		deltas_add(&v->deltas, row);
	} else if (row->kind == ROW_TICK && row->ncpus > 0 && !v->frozen) {
		if (v->over)
			rows_clear(&v->sample);
		v->over = false;
		rows_add(&v->sample, v->run, row);
	}
}

static bool is_of_set(const struct view *v)
{
	return v->sort.i < (v->sort.kind == COLUMN_EVENT   ? view_set(v)->nevents
			    : v->sort.kind == COLUMN_RATIO ? view_set(v)->nratios
							   : 1);
}

bool view_sampled(struct view *v)
{
	bool shows;

	if (!v->run->of_cpus && !v->frozen)
		rows_clear(&v->sample);
	if (!v->run->of_cpus)
		deltas_take(&v->deltas, v->taker);
	shows = !v->frozen && !v->over && v->sample.n > 0;
	if (shows) {
		/* Tick rows of LWPs can be of a part of the interval. */
		v->span_ns = v->run->of_cpus || v->last_ns == 0 ? v->longest_ns
								: v->time_ns - v->last_ns;
		v->set = v->next_set;
		if (v->share >= view_set(v)->nevents)
			v->share = 0;
		if (!is_of_set(v))
			v->sort = (struct sort_key){COLUMN_EVENT, v->share};
		view_group(v, v->by);
	}
	/* The rows stay for other groups of them. */
	v->over |= v->run->of_cpus && shows;
	v->last_ns = v->time_ns;
	v->longest_ns = 0;
	return shows;
}

void view_init(struct view *v, enum scope by, bool cycles)
{
	static const struct sink_ops sample = {.row = sample_row};

	*v = (struct view){.by = by, .cycles = cycles};
	v->taker = new_part(v, &sample, NULL);
}

void view_free(struct view *v)
{
	rows_free(&v->sample);
	rows_free(&v->grouped);
	deltas_clear(&v->deltas);
	sink_free(v->taker);
}
