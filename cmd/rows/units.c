/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * units.c - rows of CPUs become rows of units.
 */
#include "units.h"

#include "../base/say.h"
#include "../base/util.h"
#include "sum.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- which CPUs form a unit ------------------------------------------------------- */

static int unit_id(enum row_unit kind, const struct run_cpu *cpu)
{
	switch (kind) {
	case UNIT_CORE:
		return cpu->core;
	case UNIT_SOCKET:
		return cpu->socket;
	case UNIT_NODE:
		return cpu->node;
	case UNIT_ALL:
		return 0;
	default:
		return cpu->id;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct units units_find(enum row_unit kind, const struct run_cpu *cpu, size_t ncpus)
{
	struct units units = {.unit = xcalloc(ncpus + 1, sizeof(*units.unit)),
			      .of = xcalloc(ncpus + 1, sizeof(*units.of))};

	for (size_t i = 0; i < ncpus; i++)
		units.unit[i].id = unit_id(kind, &cpu[i]);
	qsort(units.unit, ncpus, sizeof(*units.unit), by_id);
	for (size_t i = 0; i < ncpus; i++) {
		if (i == 0 || units.unit[units.n - 1].id != units.unit[i].id)
			units.unit[units.n++] = units.unit[i];
	}
	for (size_t i = 0; i < ncpus; i++) {
		const struct unit own = {.id = unit_id(kind, &cpu[i])};
		struct unit *unit = bsearch(&own, units.unit, units.n, sizeof(*units.unit), by_id);

		unit->ncpus++;
		units.of[i] = (size_t)(unit - units.unit);
	}
	return units;
}

void units_free(struct units *units)
{
	free(units->unit);
	free(units->of);
	*units = (struct units){0};
}

/* ---- sums ----------------------------------------------------------------------- */

struct filter {
	struct sink sink, *next;
	enum row_unit kind;
	size_t nranges; /* of the CPUs that are wanted; 0: all are */
	struct range {
		int first, last;
	} * range;
	struct run run; /* as it is told to `next`; what it points to is the teller's */
	struct units units;
	struct sum *sum;   /* of the sample, by unit */
	struct sum *total; /* of the CPUs that are wanted, by set */
	bool *incomplete;  /* such a total */
	struct row row;	   /* the last one of the sample; kind ROW_KINDS: there is none */
};

static bool is_wanted(const struct filter *f, int cpu)
{
	for (size_t i = 0; i < f->nranges; i++) {
		if (cpu >= f->range[i].first && cpu <= f->range[i].last)
			return true;
	}
	return f->nranges == 0;
}

static void clear(struct filter *f)
{
	units_free(&f->units);
	free(f->run.cpu);
	free(f->sum);
	free(f->total);
	free(f->incomplete);
	f->run = (struct run){0};
	f->sum = f->total = NULL;
	f->incomplete = NULL;
	f->row.kind = ROW_KINDS;
}

static void begin(struct sink *sink, const struct run *run)
{
	struct filter *f = (struct filter *)sink;

	clear(f);
	f->run = *run;
	f->run.unit = f->kind;
	f->run.ncpus = 0;
	f->run.cpu = xcalloc(run->ncpus + 1, sizeof(*run->cpu));
	for (size_t i = 0; i < run->ncpus; i++) {
		if (is_wanted(f, run->cpu[i].id))
			f->run.cpu[f->run.ncpus++] = run->cpu[i];
	}
	if (f->run.ncpus == 0)
		die("none of the CPUs of the record is wanted (--cpus)");
	f->units = units_find(f->kind, f->run.cpu, f->run.ncpus);
	f->sum = xcalloc(f->units.n + 1, sizeof(*f->sum));
	f->total = xcalloc(run->nsets, sizeof(*f->total));
	f->incomplete = xcalloc(run->nsets, sizeof(*f->incomplete));
	sink_begin(f->next, &f->run);
}

static int by_cpu(const void *a, const void *b)
{
	const struct run_cpu *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* The total of the CPUs that are wanted, in place of that of all. */
static void put_total(struct filter *f, const struct row *row)
{
	struct row own = *row;
	const struct sum *total = &f->total[row->set];

	sum_fill_row(total, &own);
	own.valid &= total->all;
	own.ncpus = f->row.ncpus;
	own.incomplete |= f->incomplete[row->set] || total->nrows == 0;
	sink_row(f->next, &own);
}

static void put_row(struct sink *sink, const struct row *row)
{
	struct filter *f = (struct filter *)sink;
	const struct run_cpu key = {.id = row->id};
	const struct run_cpu *cpu;
	const struct run_set *set = &f->run.set[row->set];

	if (row->kind == ROW_TOTAL && f->nranges > 0) {
		put_total(f, row);
	} else if (row->kind == ROW_TOTAL) {
		sink_row(f->next, row);
	} else {
		cpu = bsearch(&key, f->run.cpu, f->run.ncpus, sizeof(key), by_cpu);
		if (cpu == NULL)
			return;
		if (row->ncpus == 0) {
			f->incomplete[row->set] = true;
		} else {
			sum_add(&f->sum[f->units.of[cpu - f->run.cpu]], set, row);
			sum_add(&f->total[row->set], set, row);
		}
		f->row = *row;
	}
}

static void sampled(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;
	struct row row = f->row;
	unsigned ncpus = 0;

	for (size_t u = 0; row.kind != ROW_KINDS && u < f->units.n; u++) {
		struct sum *sum = &f->sum[u];

		row.unit = f->kind;
		row.id = f->units.unit[u].id;
		sum_fill_row(sum, &row);
		row.valid &= sum->all;
		row.ncpus = sum->nrows;
		/* A CPU that is not counted has no row that could lack something. */
		row.incomplete |= f->kind != UNIT_CPU && sum->nrows < f->units.unit[u].ncpus;
		ncpus += sum->nrows;
		sink_row(f->next, &row);
		*sum = (struct sum){0};
	}
	f->row.ncpus = ncpus; /* of the last sample, for the totals */
	sink_sampled(f->next);
}

static void end(struct sink *sink)
{
	sink_end(((struct filter *)sink)->next);
}

static void filter_free(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;

	clear(f);
	sink_free(f->next);
	free(f->range);
	free(f);
}

/* "0,2-5": numbers and ranges of them. */
static bool parse_list(struct filter *f, const char *text)
{
	char *end;

	do {
		unsigned long first, last;

		if (*text < '0' || *text > '9')
			return false;
		first = last = strtoul(text, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > INT_MAX || (*end != ',' && *end != '\0'))
			return false;
		f->range = xrealloc(f->range, (f->nranges + 1) * sizeof(*f->range));
		f->range[f->nranges++] = (struct range){(int)first, (int)last};
		text = end + 1;
	} while (*end == ',');
	return true;
}

bool units_is_list(const char *text)
{
	struct filter f = {0};
	bool good = parse_list(&f, text);

	free(f.range);
	return good;
}

struct sink *units_open(struct sink *next, enum row_unit kind, const char *cpus)
{
	static const struct sink_ops ops = {.begin = begin,
					    .row = put_row,
					    .sampled = sampled,
					    .end = end,
					    .free = filter_free};
	struct filter *f = xcalloc(1, sizeof(*f));

	f->sink.ops = &ops;
	f->next = next;
	f->kind = kind;
	f->row.kind = ROW_KINDS;
	if (cpus != NULL)
		parse_list(f, cpus);
	return &f->sink;
}
