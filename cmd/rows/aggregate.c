/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * aggregate.c - adds up the rows of the CPUs of a core, socket or node, or of all CPUs.
 */
#include "filters.h"

#include "../base/util.h"
#include "sum.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups of CPUs --------------------------------------------------------------- */

static int group_id(enum scope scope, const struct run_cpu *cpu)
{
	switch (scope) {
	case SCOPE_CORE:
		return cpu->core;
	case SCOPE_SOCKET:
		return cpu->socket;
	case SCOPE_NODE:
		return cpu->node;
	case SCOPE_KIND:
		return cpu->kind;
	case SCOPE_ALL:
		return 0;
	default:
		return cpu->id;
	}
}

/* Compares CPUs or groups, whose first member is the id. */
static int by_id(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

struct cpu_groups cpu_groups_find(enum scope scope, const struct run_cpu *cpu, size_t ncpus)
{
	struct cpu_groups groups = {.group = xcalloc(ncpus + 1, sizeof(*groups.group)),
				    .of = xcalloc(ncpus + 1, sizeof(*groups.of))};
	struct cpu_group *group = groups.group;

	for (size_t i = 0; i < ncpus; i++)
		group[i].id = group_id(scope, &cpu[i]);
	qsort(group, ncpus, sizeof(*group), by_id);
	for (size_t i = 0; i < ncpus; i++) {
		if (i == 0 || group[groups.n - 1].id != group[i].id)
			group[groups.n++] = group[i];
	}
	for (size_t i = 0; i < ncpus; i++) {
		const int id = group_id(scope, &cpu[i]);
		struct cpu_group *own = bsearch(&id, group, groups.n, sizeof(*group), by_id);

		if (own->ncpus++ == 0)
			own->pmu = cpu[i].pmu != NULL ? cpu[i].pmu : "";
		groups.of[i] = (size_t)(own - group);
	}
	return groups;
}

void cpu_groups_free(struct cpu_groups *groups)
{
	free(groups->group);
	free(groups->of);
	*groups = (struct cpu_groups){0};
}

/* ---- the sink --------------------------------------------------------------------- */

struct aggregate {
	struct sink sink;
	enum scope scope;
	size_t nranges; /* selected CPUs; 0: all */
	struct cpu_range *range;
	struct run run; /* the run as `next` gets it; shares most pointers with the source's */
	struct cpu_groups groups;
	struct sum *sum;   /* of the sample, by group */
	struct sum *total; /* of the run, by set: only selected CPUs */
	bool *incomplete;  /* by set: some selected CPU was not counted in some sample */
	struct row row;	   /* the last row of the sample; ROW_KINDS: no row yet */
};

static bool has_cpu(const struct cpu_range *range, size_t n, int cpu)
{
	for (size_t i = 0; i < n; i++) {
		if ((unsigned)cpu >= range[i].first && (unsigned)cpu <= range[i].last)
			return true;
	}
	return false;
}

bool aggregate_finds(const struct run *run, const char *cpus)
{
	struct cpu_range *range;
	const size_t n = parse_cpu_list(cpus, &range);
	bool found = false;

	for (size_t i = 0; i < run->ncpus; i++)
		found |= has_cpu(range, n, run->cpu[i].id);
	free(range);
	return found;
}

static void clear(struct aggregate *a)
{
	cpu_groups_free(&a->groups);
	free(a->run.cpu);
	free(a->sum);
	free(a->total);
	free(a->incomplete);
	a->run = (struct run){0};
	a->sum = a->total = NULL;
	a->incomplete = NULL;
	a->row.kind = ROW_KINDS;
}

static void aggregate_begin(struct sink *sink, const struct run *run)
{
	struct aggregate *a = (struct aggregate *)sink;

	clear(a);
	a->run = *run;
	a->run.scope = a->scope;
	a->run.ncpus = 0;
	a->run.cpu = xcalloc(run->ncpus + 1, sizeof(*run->cpu));
	for (size_t i = 0; i < run->ncpus; i++) {
		if (a->nranges == 0 || has_cpu(a->range, a->nranges, run->cpu[i].id))
			a->run.cpu[a->run.ncpus++] = run->cpu[i];
	}
	a->groups = cpu_groups_find(a->scope, a->run.cpu, a->run.ncpus);
	a->sum = xcalloc(a->groups.n + 1, sizeof(*a->sum));
	a->total = xcalloc(run->nsets, sizeof(*a->total));
	a->incomplete = xcalloc(run->nsets, sizeof(*a->incomplete));
	sink_begin(a->sink.next, &a->run);
}

/* Replaces the total of all CPUs by that of the selected CPUs. */
static void put_total(struct aggregate *a, const struct row *row)
{
	struct row own = *row;
	const struct sum *total = &a->total[row->set];

	sum_fill_row(total, &own);
	own.valid &= total->all;
	own.ncpus = a->row.ncpus;
	own.incomplete |= a->incomplete[row->set] || total->nrows == 0;
	sink_row(a->sink.next, &own);
}

static void aggregate_row(struct sink *sink, const struct row *row)
{
	struct aggregate *a = (struct aggregate *)sink;
	const struct run_cpu *cpu;
	const struct run_set *set = &a->run.set[row->set];

	if (row->kind == ROW_TOTAL && a->nranges > 0) {
		put_total(a, row);
	} else if (row->kind == ROW_TOTAL) {
		sink_row(a->sink.next, row);
	} else {
		cpu = bsearch(&row->id, a->run.cpu, a->run.ncpus, sizeof(*cpu), by_id);
		if (cpu == NULL)
			return;
		if (row->ncpus == 0) {
			a->incomplete[row->set] = true;
		} else {
			sum_add(&a->sum[a->groups.of[cpu - a->run.cpu]], set, row);
			sum_add(&a->total[row->set], set, row);
		}
		a->row = *row;
	}
}

/* Kinds have names instead of numbers. */
static void name_kind(const struct aggregate *a, const struct cpu_group *group, struct row *row)
{
	row->id = 0;
	row->key_width = 0;
	for (size_t i = 0; i < a->groups.n; i++) {
		const size_t width = strlen(a->groups.group[i].pmu);

		if (width > row->key_width)
			row->key_width = (unsigned)width;
	}
	row->key = group->pmu;
	row->key_kind = KEY_NAME;
	if (*group->pmu == '\0')
		row_set_fixed_key(row, KEY_NONE);
}

static void aggregate_sampled(struct sink *sink)
{
	struct aggregate *a = (struct aggregate *)sink;
	struct row row = a->row;
	unsigned ncpus = 0;

	for (size_t i = 0; row.kind != ROW_KINDS && i < a->groups.n; i++) {
		struct sum *sum = &a->sum[i];

		row.scope = a->scope;
		row.id = a->groups.group[i].id;
		if (a->scope == SCOPE_KIND)
			name_kind(a, &a->groups.group[i], &row);
		sum_fill_row(sum, &row);
		row.valid &= sum->all;
		row.ncpus = sum->nrows;
		/* For single CPUs, writers show ncpus 0 as "not counted". */
		row.incomplete |= a->scope != SCOPE_CPU && sum->nrows < a->groups.group[i].ncpus;
		ncpus += sum->nrows;
		sink_row(a->sink.next, &row);
		*sum = (struct sum){0};
	}
	a->row.ncpus = ncpus; /* for the total */
	sink_sampled(a->sink.next);
}

static void aggregate_free(struct sink *sink)
{
	struct aggregate *a = (struct aggregate *)sink;

	clear(a);
	free(a->range);
}

struct sink *aggregate_open(struct sink *next, enum scope scope, const char *cpus)
{
	static const struct sink_ops ops = {.begin = aggregate_begin,
					    .row = aggregate_row,
					    .sampled = aggregate_sampled,
					    .free = aggregate_free};
	struct aggregate *a = sink_new(sizeof(*a), &ops, next);

	a->scope = scope;
	a->row.kind = ROW_KINDS;
	if (cpus != NULL)
		a->nranges = parse_cpu_list(cpus, &a->range);
	return &a->sink;
}
