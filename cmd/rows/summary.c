/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * summary.c - at the end of a run, a summary replaces its rows.
 *
 * The counts of an LWP are in its fini_lwp row.  A record without these rows has them in lwp_exit
 * rows, except for LWP 1: it has the total of its process minus the counts of the other LWPs.
 */
#include "filters.h"

#include "../base/util.h"
#include "ledger.h"

#include <stdlib.h>

/* An LWP, a process, a command, an owner, a CPU or a key; its row has flags, too. */
struct object {
	struct entry entry;
	bool known;	     /* some set of its last LWP or process has counts */
	uint64_t nfini_rows; /* SCOPE_PROCESS: fini_lwp rows, except that of LWP 1 */
};

struct summary {
	struct sink sink;
	enum scope by;
	unsigned nkeys; /* 0: all */
	const struct run *run;
	struct run out; /* the run as `next` gets it; shares all pointers with `run` */
	struct ledger objects;
	struct ledger procs; /* SCOPE_LWP: sums of the lwp_exit rows of processes */
	struct object *last; /* SCOPE_LWP: the LWP of the previous row */
	struct row total;    /* flags */
	struct sum *sum;     /* by set: of all objects */
	bool has_fini_rows;
	int64_t time_ns, wall_ns; /* of the last row */
};

/* An LWP or process has rows for all sets; it is incomplete if none of them has counts. */
static void add_to_object(const struct summary *s, struct object *object, const struct row *row)
{
	struct sum *sum = &object->entry.sum[row->set];

	sum_add(sum, &s->run->set[row->set], row);
	object->known = row->valid != 0 || (object->known && row->set > 0);
	object->entry.id.incomplete |=
		sum->incomplete || (row->set + 1 == s->run->nsets && !object->known);
}

/* Adds a row to an object of the summary, and so to the total. */
static void add_row(struct summary *s, struct object *object, const struct row *row)
{
	add_to_object(s, object, row);
	sum_add(&s->sum[row->set], &s->run->set[row->set], row);
}

/* ---- LWPs -------------------------------------------------------------------------- */

/* The rows of an LWP, one per set, follow each other, except in a forged record. */
static void add_lwp(struct summary *s, const struct row *row)
{
	if (row->set == 0 || s->last == NULL) {
		const struct row id = {
			.pid = row->pid, .lwp = row->lwp, .tid = row->tid, .comm = row->comm};

		s->last = ledger_add(&s->objects, &id);
		s->last->entry.id.runs = 1;
		ledger_close(&s->objects, &s->last->entry);
	}
	add_row(s, s->last, row);
}

/* Adds an LWP other than LWP 1, of a record without fini_lwp rows. */
static void add_lwp_exit(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};

	add_lwp(s, row);
	add_to_object(s, ledger_get(&s->procs, &id), row);
}

/* Adds LWP 1 from the total of its process, of a record without fini_lwp rows. */
static void add_first_lwp(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};
	const struct entry *proc = ledger_find(&s->procs, &id);
	const struct run_set *set = &s->run->set[row->set];
	struct row first = *row;
	uint64_t val[RUN_MAX_EVENTS];

	first.lwp = 1;
	first.tid = row->pid;
	if (row->kind == ROW_DETACH || row->lwp != 1) {
		/* The counts of other LWPs are missing in the record. */
		first.valid = 0;
		first.incomplete = true;
	} else if (proc != NULL) {
		const struct sum *others = &proc->sum[row->set];

		first.incomplete |= proc->id.incomplete;
		first.cycles -= others->cycles;
		for (unsigned i = 0; i < set->nevents; i++) {
			val[i] = row->val[i];
			if ((row->valid >> i & 1) != 0 &&
			    !count_sub(&set->event[i], &val[i], others->val[i])) {
				first.valid &= ~(UINT64_C(1) << i);
				first.incomplete = true;
			}
		}
		first.val = val;
	}
	add_lwp(s, &first);
	if (proc != NULL && row->set + 1 == s->run->nsets)
		ledger_remove(&s->procs, ledger_find(&s->procs, &id));
}

static void put_lwp(struct summary *s, const struct row *row)
{
	if (row->kind == ROW_FINI_LWP) {
		s->has_fini_rows = true;
		add_lwp(s, row);
	} else if (!s->has_fini_rows && row->kind == ROW_LWP_EXIT) {
		add_lwp_exit(s, row);
	} else if (!s->has_fini_rows && row_is_program_total(row)) {
		add_first_lwp(s, row);
	}
}

/* ---- processes, commands and owners -------------------------------------------------------- */

/* The process has ended: a new process can get its id. */
static void close_process(struct summary *s, struct object *object, const char *comm)
{
	struct row *id = &object->entry.id;

	ledger_close(&s->objects, &object->entry);
	if (comm != NULL) {
		free((char *)id->comm);
		id->comm = xstrdup(comm);
	}
	/* LWPs that were there before the attach have no lwp_create row. */
	if (id->runs < object->nfini_rows)
		id->runs = object->nfini_rows;
	id->runs++; /* LWP 1 */
}

/* A process has a total for each program that it ran. */
static void put_process(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};
	struct object *object;

	if (row->kind != ROW_LWP_CREATE && row->kind != ROW_FINI_LWP && !row_is_program_total(row))
		return;
	object = ledger_get(&s->objects, &id);
	if (row->kind == ROW_LWP_CREATE) {
		object->entry.id.runs++;
	} else if (row->kind == ROW_FINI_LWP) {
		object->nfini_rows += row->lwp != 1 && row->set == 0;
	} else {
		add_row(s, object, row);
		if (row->kind != ROW_EXEC && row->set + 1 == s->run->nsets)
			close_process(s, object, row->comm);
	}
}

/* Adds the total of a program to its command or owner. */
static void add_program(struct summary *s, const struct row *id, const struct row *row)
{
	struct object *object;

	if (!row_is_program_total(row))
		return;
	object = ledger_get(&s->objects, id);
	object->entry.id.runs += row->set == 0;
	add_row(s, object, row);
}

static void put_command(struct summary *s, const struct row *row)
{
	const struct row id = {.comm = row->comm};

	add_program(s, &id, row);
}

static void put_owner(struct summary *s, const struct row *row)
{
	struct row id = row_object(row);

	id.scope = s->by;
	if (s->by == SCOPE_USER)
		id = (struct row){.scope = s->by, .key = row->user};
	if (id.key == NULL)
		row_set_fixed_key(&id, KEY_UNKNOWN);
	add_program(s, &id, row);
}

/* ---- CPUs -------------------------------------------------------------------------- */

static void put_cpu(struct summary *s, const struct row *row)
{
	const struct row id = row_object(row);
	struct object *object;

	if (row->kind != ROW_TICK)
		return;
	object = ledger_get(&s->objects, &id);
	if (row->ncpus > object->entry.id.ncpus)
		object->entry.id.ncpus = row->ncpus;
	object->known = true; /* sets take turns: a CPU has a row for one set at a time */
	add_row(s, object, row);
	object->entry.id.incomplete |= row->ncpus == 0;
}

/* ---- the end of the run -------------------------------------------------------------- */

static void add_entry(const struct summary *s, struct entry *to, const struct entry *from)
{
	for (size_t k = 0; k < s->run->nsets; k++) {
		const struct sum *sum = &from->sum[k];
		int64_t span_ns = to->sum[k].span_ns;
		struct row row = {.time_ns = sum->end_ns};

		sum_fill_row(sum, &row);
		sum_add(&to->sum[k], &s->run->set[k], &row);
		to->sum[k].span_ns = sum->span_ns > span_ns ? sum->span_ns : span_ns;
	}
	to->id.incomplete |= from->id.incomplete;
	to->id.ncpus = from->id.ncpus;
}

/* Adds up the keys beyond the largest ones. */
static void add_up_others(struct summary *s)
{
	struct row id = {.scope = s->run->scope};
	struct entry **sorted = ledger_sorted(&s->objects, &s->run->set[0].event[0]);
	const size_t n = s->objects.n;
	size_t nkeys = 0;

	row_set_fixed_key(&id, KEY_OTHERS);
	for (size_t i = 0; i < n; i++) {
		if (sorted[i]->id.key_kind != KEY_NAME || nkeys++ < s->nkeys)
			continue;
		add_entry(s, ledger_get(&s->objects, &id), sorted[i]);
		ledger_remove(&s->objects, sorted[i]);
	}
	free(sorted);
}

/* The span of a set: the longest span of a CPU, since CPUs count at the same time. */
static int64_t cpus_span(const struct summary *s, size_t set)
{
	const struct entry *entry;
	int64_t span_ns = 0;

	TAILQ_FOREACH(entry, &s->objects.list, next) {
		if (entry->sum[set].span_ns > span_ns)
			span_ns = entry->sum[set].span_ns;
	}
	return span_ns;
}

static void put(const struct summary *s, struct row row, const struct sum *sums, enum row_kind kind)
{
	const bool incomplete = row.incomplete;

	row.kind = kind;
	row.time_ns = s->time_ns;
	row.wall_ns = s->wall_ns;
	if (row.comm != NULL && *row.comm == '\0')
		row.comm = NULL;
	for (row.set = 0; row.set < s->run->nsets; row.set++) {
		const struct sum *sum = &sums[row.set];

		sum_fill_row(sum, &row);
		row.incomplete = incomplete;
		if (kind == ROW_TOTAL)
			row.late = 0; /* the other rows have all counts */
		row.span_ns = sum->span_ns > 0 ? sum->span_ns : 0;
		/* A key was also counted in the samples in which it has no row. */
		if (s->run->of_cpus && row.key != NULL)
			row.span_ns = cpus_span(s, row.set);
		sink_row(s->sink.next, &row);
	}
}

/* The time from the first counts of any set to the last row. */
static int64_t lwps_span(const struct summary *s)
{
	int64_t begin_ns = s->time_ns;

	for (size_t k = 0; k < s->run->nsets; k++) {
		const struct sum *sum = &s->sum[k];

		if (sum->span_ns != 0 && sum->begin_ns < begin_ns)
			begin_ns = sum->begin_ns;
	}
	return begin_ns >= 0 ? s->time_ns - begin_ns : -1;
}

static void put_total(struct summary *s)
{
	struct row *row = &s->total;
	const struct entry *entry;
	int64_t span_ns = lwps_span(s);

	TAILQ_FOREACH(entry, &s->objects.list, next) {
		row->incomplete |= entry->id.incomplete;
		row->runs += entry->id.runs;
		row->ncpus = (entry->id.key == NULL ? row->ncpus : 0) + entry->id.ncpus;
	}
	for (size_t k = 0; k < s->run->nsets; k++) {
		row->incomplete |= s->sum[k].incomplete;
		s->sum[k].span_ns = s->run->of_cpus ? cpus_span(s, k) : span_ns;
	}
	row->incomplete |= s->run->incomplete;
	put(s, *row, s->sum, ROW_TOTAL);
}

/* ---- the sink ---------------------------------------------------------------------- */

/* At the end, and before another run. */
static void clear(struct sink *sink)
{
	struct summary *s = (struct summary *)sink;

	ledger_clear(&s->objects);
	ledger_clear(&s->procs);
	free(s->sum);
	s->sum = NULL;
	s->last = NULL;
	s->has_fini_rows = false;
	s->time_ns = s->wall_ns = 0;
}

static void summary_begin(struct sink *sink, const struct run *run)
{
	struct summary *s = (struct summary *)sink;

	clear(sink);
	s->run = run;
	s->out = *run;
	s->out.by = s->by;
	if (!run->of_cpus && scope_is_owner(s->by))
		s->out.scope = s->by;
	ledger_init(&s->objects, sizeof(struct object), run->nsets);
	ledger_init(&s->procs, sizeof(struct object), run->nsets);
	s->total = (struct row){.scope = SCOPE_ALL};
	s->sum = xcalloc(run->nsets, sizeof(*s->sum));
	sink_begin(s->sink.next, &s->out);
}

static void summary_row(struct sink *sink, const struct row *row)
{
	struct summary *s = (struct summary *)sink;

	s->time_ns = row->time_ns;
	s->wall_ns = row->wall_ns;
	if (s->by == SCOPE_LWP)
		put_lwp(s, row);
	else if (s->by == SCOPE_PROCESS)
		put_process(s, row);
	else if (s->by == SCOPE_COMMAND)
		put_command(s, row);
	else if (s->run->of_cpus)
		put_cpu(s, row);
	else
		put_owner(s, row);
}

static double first_count(const struct summary *s, const struct entry *entry)
{
	return (entry->sum[0].valid & 1) != 0
		       ? count_real(&s->run->set[0].event[0], entry->sum[0].val[0])
		       : 0;
}

static void summary_end(struct sink *sink)
{
	struct summary *s = (struct summary *)sink;
	struct entry **sorted;
	double all = 0;

	if (s->nkeys > 0)
		add_up_others(s);
	sorted = ledger_sorted(&s->objects, &s->run->set[0].event[0]);
	for (size_t i = 0; i < s->objects.n; i++)
		all += first_count(s, sorted[i]);
	for (size_t i = 0; i < s->objects.n; i++) {
		struct row *row = &sorted[i]->id;

		row->shared = all > 0 && (sorted[i]->sum[0].valid & 1) != 0;
		row->share = row->shared ? first_count(s, sorted[i]) / all : 0;
		put(s, *row, sorted[i]->sum, ROW_SUM);
	}
	free(sorted);
	put_total(s);
	sink_end(s->sink.next);
}

struct sink *summary_open(struct sink *next, enum scope by, unsigned nkeys)
{
	static const struct sink_ops ops = {
		.begin = summary_begin, .row = summary_row, .end = summary_end, .free = clear};
	struct summary *s = sink_new(sizeof(*s), &ops, next);

	s->by = by;
	s->nkeys = nkeys;
	ledger_init(&s->objects, sizeof(struct object), 0);
	ledger_init(&s->procs, sizeof(struct object), 0);
	return &s->sink;
}
