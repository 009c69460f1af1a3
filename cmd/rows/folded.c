/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * folded.c - replaces the rows of a summary that count nothing by one, such as "12 idle threads".
 */
#include "filters.h"

#include "rows.h"
#include "sum.h"

#include <stdlib.h>

struct folded {
	struct sink sink;
	bool cycles; /* a row has cycles, too */
	const struct run *run;
	struct rows object; /* the LWP, process, ... that is not complete yet: a row per set */
	struct rows only;   /* the first idle object */
	size_t nidle;
	uint64_t runs;	 /* of the idle objects */
	struct sum *sum; /* likewise, by set */
};

static void folded_begin(struct sink *sink, const struct run *run)
{
	struct folded *f = (struct folded *)sink;

	f->run = run;
	f->nidle = 0;
	f->runs = 0;
	free(f->sum);
	f->sum = xcalloc(run->nsets, sizeof(*f->sum));
	rows_clear(&f->object);
	rows_clear(&f->only);
	sink_begin(sink->next, run);
}

static void put_rows(struct folded *f, const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		sink_row(f->sink.next, &rows->row[i]);
}

/* A set that did not count the object has no counts. */
static bool is_zero(const struct folded *f, const struct row *row)
{
	const unsigned nevents = f->run->set[row->set].nevents;
	bool zero = row->valid == 0 || !f->cycles || row->cycles == 0;

	for (unsigned i = 0; i < nevents && row->valid != 0; i++)
		zero &= (row->valid >> i & 1) != 0 && row->val[i] == 0;
	return zero && !row->incomplete && row->late == 0;
}

static bool is_idle(const struct folded *f)
{
	const struct rows *object = &f->object;
	bool known = false, zero = true;

	for (size_t i = 0; i < object->n; i++) {
		known |= object->row[i].valid != 0;
		zero &= is_zero(f, &object->row[i]) && object->row[i].key_kind == KEY_NAME;
	}
	return known && zero;
}

static const char *units(enum scope scope)
{
	static const char *const names[SCOPES] = {
		[SCOPE_LWP] = "threads",
		[SCOPE_PROCESS] = "processes",
		[SCOPE_CPU] = "CPUs",
		[SCOPE_CORE] = "cores",
		[SCOPE_SOCKET] = "sockets",
		[SCOPE_NODE] = "nodes",
		[SCOPE_KIND] = "kinds",
		[SCOPE_COMMAND] = "commands",
		[SCOPE_CGROUP] = "cgroups",
		[SCOPE_SERVICE] = "services",
		[SCOPE_CONTAINER] = "containers",
		[SCOPE_USER] = "users",
	};

	return names[scope];
}

/* A single one keeps its name. */
static void put_idle(struct folded *f)
{
	const enum scope unit = f->run->of_cpus ? f->run->scope : f->run->by;
	char *text;

	if (f->nidle == 1)
		put_rows(f, &f->only);
	text = xasprintf("%zu idle %s", f->nidle, units(unit));
	for (size_t k = 0; k < f->run->nsets && f->nidle > 1; k++) {
		struct row row = f->only.row[k];

		row.folded = true;
		row.key = row.comm = text;
		row.runs = f->runs;
		row.span_ns = f->sum[k].span_ns;
		sum_fill_row(&f->sum[k], &row);
		sink_row(f->sink.next, &row);
	}
	free(text);
	f->nidle = 0;
}

/* The rows of an object, one per set, follow each other. */
static void folded_row(struct sink *sink, const struct row *row)
{
	struct folded *f = (struct folded *)sink;
	struct rows *object = &f->object;

	if (row->kind != ROW_SUM) {
		if (f->nidle > 0)
			put_idle(f);
		sink_row(sink->next, row);
		return;
	}
	rows_add(object, f->run, row);
	if (row->set + 1 < f->run->nsets)
		return;
	if (!is_idle(f)) {
		put_rows(f, object);
	} else {
		f->runs += row->runs;
		for (size_t i = 0; i < object->n; i++) {
			const struct row *one = &object->row[i];

			sum_add(&f->sum[one->set], &f->run->set[one->set], one);
			if (f->nidle == 0)
				rows_add(&f->only, f->run, one);
		}
		f->nidle++;
	}
	rows_clear(object);
}

static void folded_free(struct sink *sink)
{
	struct folded *f = (struct folded *)sink;

	rows_free(&f->object);
	rows_free(&f->only);
	free(f->sum);
}

struct sink *folded_open(struct sink *next, bool cycles)
{
	static const struct sink_ops ops = {
		.begin = folded_begin, .row = folded_row, .free = folded_free};
	struct folded *f = sink_new(sizeof(*f), &ops, next);

	f->cycles = cycles;
	return &f->sink;
}
