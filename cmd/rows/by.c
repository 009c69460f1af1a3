/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * by.c - the rows of a run become a summary at its end.
 *
 * What an LWP counted is in its fini_lwp row.  A record without these has it in the lwp_exit
 * rows, and for LWP 1 as what is left of the total of its process.
 */
#include "by.h"

#include "../base/util.h"

#include <bsd/sys/tree.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What was counted of a set. */
struct sum {
	struct counts counts;
	int64_t span_ns; /* in which it was counted; -1: not known */
};

struct entry {
	struct row row;	 /* who it is; `comm` is ours */
	bool known;	 /* some set of its last LWP or process has counts */
	uint64_t finis;	 /* BY_PROCESS: fini_lwp rows, but those of LWP 1 */
	struct sum *sum; /* by set */
	RB_ENTRY(entry) link;
};

RB_HEAD(entries, entry);

struct filter {
	struct sink sink, *next;
	enum row_by by;
	const struct run *told; /* by the teller */
	struct run run;		/* as it is told to `next`; what it points to is the teller's */
	size_t n, size;
	struct entry **entry;	/* all, in the order in which they came */
	struct entries entries; /* those to which more may be added */
	struct entries procs;	/* BY_LWP: sums of the lwp_exit rows of processes */
	struct entry *last;	/* BY_LWP: the LWP whose rows are told */
	struct entry *total;	/* of what is in the summary */
	bool has_finis;		/* there are fini_lwp rows */
	int64_t time_ns, wall_ns;
	int64_t begin_ns; /* of all that is in the summary; -1: not known; INT64_MAX: nothing */
};

static int compare(const struct entry *a, const struct entry *b)
{
	if (a->row.pid != b->row.pid)
		return a->row.pid < b->row.pid ? -1 : 1;
	if (a->row.id != b->row.id)
		return a->row.id < b->row.id ? -1 : 1;
	if (a->row.lwp != b->row.lwp)
		return a->row.lwp < b->row.lwp ? -1 : 1;
	return strcmp(a->row.comm, b->row.comm);
}

/* clang-format off */
RB_GENERATE_INTERNAL(entries, entry, link, compare, __attribute__((unused)) static)
/* clang-format on */

/* ---- entries --------------------------------------------------------------------- */

static struct entry *new_entry(const struct filter *f, const struct row *who)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	entry->row = *who;
	entry->row.comm = xstrdup(who->comm != NULL ? who->comm : "");
	entry->sum = xcalloc(f->told->nsets, sizeof(*entry->sum));
	return entry;
}

static void free_entry(struct entry *entry)
{
	if (entry == NULL)
		return;
	free((char *)entry->row.comm);
	free(entry->sum);
	free(entry);
}

/* An entry of the summary, to which nothing else is added later. */
static struct entry *append(struct filter *f, const struct row *who)
{
	if (f->n == f->size) {
		f->size = f->size * 2 + 64;
		f->entry = xrealloc(f->entry, f->size * sizeof(struct entry *));
	}
	return f->entry[f->n++] = new_entry(f, who);
}

static struct entry *find(struct entries *entries, const struct row *who)
{
	struct entry key = {.row = *who};

	key.row.comm = who->comm != NULL ? who->comm : "";
	return RB_FIND(entries, entries, &key);
}

/* The entry of the summary, made when it is not there. */
static struct entry *find_or_append(struct filter *f, const struct row *who)
{
	struct entry *entry = find(&f->entries, who);

	if (entry != NULL)
		return entry;
	entry = append(f, who);
	RB_INSERT(entries, &f->entries, entry);
	return entry;
}

static void rename_entry(struct entry *entry, const char *comm)
{
	if (comm == NULL)
		return;
	free((char *)entry->row.comm);
	entry->row.comm = xstrdup(comm);
}

/* Of times whose sum is out of range, none is known. */
static void add_span(int64_t *to, int64_t span_ns)
{
	if (*to < 0 || span_ns < 0 || __builtin_add_overflow(*to, span_ns, to))
		*to = -1;
}

static void add_sum(struct sum *to, const struct sum *from, const struct run_set *set)
{
	const struct counts *counts = &from->counts;

	counts_add(&to->counts, set, counts->val, counts->valid, counts->cycles);
	add_span(&to->span_ns, from->span_ns);
}

/* What an LWP or process counted of any set is known when it was counted at all. */
static void add_row(struct filter *f, struct entry *entry, const struct row *row)
{
	struct sum *sum = &entry->sum[row->set];

	if (row->valid != 0) {
		int64_t begin = row->span_ns > 0 ? row->time_ns - row->span_ns : -1;

		add_span(&sum->span_ns, row->span_ns > 0 ? row->span_ns : -1);
		f->begin_ns = begin < f->begin_ns ? begin : f->begin_ns;
	}
	counts_add(&sum->counts, &f->told->set[row->set], row->val, row->valid, row->cycles);
	entry->row.incomplete |= sum->counts.lost != 0;
	entry->known = row->valid != 0 || (entry->known && row->set > 0);
	entry->row.incomplete |=
		row->incomplete || (row->set + 1 == f->told->nsets && !entry->known);
}

/* ---- LWPs -------------------------------------------------------------------------- */

/* Each LWP has a row per set, one after the other; unless a record was tampered with. */
static void add_lwp(struct filter *f, const struct row *row)
{
	if (row->set == 0 || f->last == NULL) {
		const struct row who = {
			.pid = row->pid, .lwp = row->lwp, .tid = row->tid, .comm = row->comm};

		f->last = append(f, &who);
		f->last->row.runs = 1;
	}
	add_row(f, f->last, row);
}

/* Of a record without fini_lwp rows: LWPs other than the first. */
static void add_lwp_exit(struct filter *f, const struct row *row)
{
	const struct row who = {.pid = row->pid};
	struct entry *proc = find(&f->procs, &who);

	add_lwp(f, row);
	if (proc == NULL) {
		proc = new_entry(f, &who);
		RB_INSERT(entries, &f->procs, proc);
	}
	add_row(f, proc, row);
}

/* LWP 1 counted what the others of its process did not, if there are none without a row. */
static void add_first_lwp(struct filter *f, const struct row *row)
{
	const struct row who = {.pid = row->pid};
	struct entry *proc = find(&f->procs, &who);
	const struct run_set *set = &f->told->set[row->set];
	struct row first = *row;
	uint64_t val[RUN_MAX_EVENTS];

	first.lwp = 1;
	first.tid = row->pid;
	if (row->kind == ROW_DETACH || row->lwp != 1) {
		first.valid = 0;
		first.incomplete = true;
	} else if (proc != NULL) {
		const struct sum *others = &proc->sum[row->set];

		first.incomplete |= proc->row.incomplete;
		first.cycles -= others->counts.cycles;
		for (unsigned i = 0; i < set->nevents; i++) {
			val[i] = row->val[i];
			if ((row->valid >> i & 1) != 0 &&
			    !count_sub(&set->event[i], &val[i], others->counts.val[i])) {
				first.valid &= ~(UINT64_C(1) << i);
				first.incomplete = true;
			}
		}
		first.val = val;
	}
	add_lwp(f, &first);
	if (proc != NULL && row->set + 1 == f->told->nsets) {
		RB_REMOVE(entries, &f->procs, proc);
		free_entry(proc);
	}
}

static void put_lwp(struct filter *f, const struct row *row)
{
	switch (row->kind) {
	case ROW_FINI_LWP:
		f->has_finis = true;
		add_lwp(f, row);
		break;
	case ROW_LWP_EXIT:
		if (!f->has_finis)
			add_lwp_exit(f, row);
		break;
	case ROW_EXEC:
	case ROW_EXIT:
	case ROW_DETACH:
		if (!f->has_finis)
			add_first_lwp(f, row);
		break;
	default:
		break;
	}
}

/* ---- processes and commands -------------------------------------------------------- */

/* A process is over: its id may be given to another one. */
static void close_process(struct filter *f, struct entry *entry, const char *comm)
{
	RB_REMOVE(entries, &f->entries, entry);
	rename_entry(entry, comm);
	/* LWPs that were there before the attach have no lwp_create row. */
	if (entry->row.runs < entry->finis)
		entry->row.runs = entry->finis;
	entry->row.runs++; /* LWP 1 */
}

/* A process is all programs that it ran. */
static void put_process(struct filter *f, const struct row *row)
{
	const struct row who = {.pid = row->pid};
	struct entry *entry;

	switch (row->kind) {
	case ROW_LWP_CREATE:
		find_or_append(f, &who)->row.runs++;
		break;
	case ROW_FINI_LWP:
		find_or_append(f, &who)->finis += row->lwp != 1 && row->set == 0;
		break;
	case ROW_EXEC:
	case ROW_EXIT:
	case ROW_DETACH:
		entry = find_or_append(f, &who);
		add_row(f, entry, row);
		if (row->kind != ROW_EXEC && row->set + 1 == f->told->nsets)
			close_process(f, entry, row->comm);
		break;
	default:
		break;
	}
}

static void put_command(struct filter *f, const struct row *row)
{
	const struct row who = {.comm = row->comm};
	struct entry *entry;

	if (row->kind != ROW_EXEC && row->kind != ROW_EXIT && row->kind != ROW_DETACH)
		return;
	entry = find_or_append(f, &who);
	entry->row.runs += row->set == 0;
	add_row(f, entry, row);
}

/* ---- CPUs -------------------------------------------------------------------------- */

static void put_cpu(struct filter *f, const struct row *row)
{
	const struct row who = {.unit = row->unit, .id = row->id};
	struct entry *entry;

	if (row->kind != ROW_TICK)
		return;
	entry = find_or_append(f, &who);
	entry->row.ncpus = row->ncpus > entry->row.ncpus ? row->ncpus : entry->row.ncpus;
	entry->known = true; /* a CPU has one set at a time */
	add_row(f, entry, row);
	entry->row.incomplete |= row->ncpus == 0;
}

/* ---- the sink ---------------------------------------------------------------------- */

static void clear(struct filter *f)
{
	struct entry *entry, *next;

	for (size_t i = 0; i < f->n; i++)
		free_entry(f->entry[i]);
	free(f->entry);
	RB_FOREACH_SAFE(entry, entries, &f->procs, next)
	{
		RB_REMOVE(entries, &f->procs, entry);
		free_entry(entry);
	}
	free_entry(f->total);
	RB_INIT(&f->entries);
	f->entry = NULL;
	f->last = f->total = NULL;
	f->n = f->size = 0;
	f->has_finis = false;
	f->time_ns = f->wall_ns = 0;
	f->begin_ns = INT64_MAX;
}

static void begin(struct sink *sink, const struct run *run)
{
	struct filter *f = (struct filter *)sink;
	const struct row all = {.kind = ROW_TOTAL, .unit = UNIT_ALL};

	clear(f);
	f->told = run;
	f->run = *run;
	f->run.by = f->by;
	f->total = new_entry(f, &all);
	sink_begin(f->next, &f->run);
}

static void put_row(struct sink *sink, const struct row *row)
{
	struct filter *f = (struct filter *)sink;

	f->time_ns = row->time_ns;
	f->wall_ns = row->wall_ns;
	if (f->by == BY_LWP)
		put_lwp(f, row);
	else if (f->by == BY_PROCESS)
		put_process(f, row);
	else if (f->by == BY_COMMAND)
		put_command(f, row);
	else
		put_cpu(f, row);
}

/* The first event of the first set; what is not known is the least. */
static double key(const struct run *run, const struct entry *entry)
{
	const struct sum *sum = &entry->sum[0];

	if ((sum->counts.valid & 1) == 0)
		return -(double)INFINITY;
	return run->set[0].event[0].is_signed ? (double)(int64_t)sum->counts.val[0]
					      : (double)sum->counts.val[0];
}

static int by_count(const void *a, const void *b, void *arg)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	bool is_signed = ((const struct run *)arg)->set[0].event[0].is_signed;
	uint64_t bias = is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t u = x->sum[0].counts.val[0] ^ bias, v = y->sum[0].counts.val[0] ^ bias;

	if ((x->sum[0].counts.valid & 1) != (y->sum[0].counts.valid & 1))
		return x->sum[0].counts.valid & 1 ? -1 : 1;
	if ((x->sum[0].counts.valid & 1) != 0 && u != v)
		return u > v ? -1 : 1;
	return compare(x, y);
}

/* Those in a summary count at the same time, CPUs in the same turns. */
static void set_total_span(const struct filter *f, size_t set)
{
	struct sum *total = &f->total->sum[set];

	total->span_ns = f->begin_ns < 0 ? -1 : f->time_ns - f->begin_ns;
	if (!f->told->of_cpus)
		return;
	total->span_ns = 0;
	for (size_t i = 0; i < f->n; i++) {
		int64_t span = f->entry[i]->sum[set].span_ns;

		total->span_ns = span > total->span_ns ? span : total->span_ns;
	}
}

static void put_entry(const struct filter *f, const struct entry *entry)
{
	struct row row = entry->row;

	row.time_ns = f->time_ns;
	row.wall_ns = f->wall_ns;
	if (row.comm[0] == '\0')
		row.comm = NULL;
	for (row.set = 0; row.set < f->told->nsets; row.set++) {
		const struct sum *sum = &entry->sum[row.set];

		row.val = sum->counts.val;
		row.valid = sum->counts.valid;
		row.cycles = sum->counts.cycles;
		row.span_ns = sum->span_ns > 0 ? sum->span_ns : 0;
		sink_row(f->next, &row);
	}
}

static void end(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;
	struct entry *total = f->total;
	double all = 0;

	if (f->n > 0)
		qsort_r(f->entry, f->n, sizeof(struct entry *), by_count,
			(void *)(uintptr_t)f->told);
	for (size_t i = 0; i < f->n; i++) {
		const struct entry *entry = f->entry[i];

		for (size_t k = 0; k < f->told->nsets; k++)
			add_sum(&total->sum[k], &entry->sum[k], &f->told->set[k]);
		total->row.incomplete |= entry->row.incomplete;
		total->row.runs += entry->row.runs;
		total->row.ncpus += entry->row.ncpus;
		all += entry->sum[0].counts.valid & 1 ? key(f->told, entry) : 0;
	}
	for (size_t i = 0; i < f->n; i++) {
		struct entry *entry = f->entry[i];

		entry->row.kind = ROW_SUM;
		entry->row.shared = all > 0 && (entry->sum[0].counts.valid & 1) != 0;
		entry->row.share = entry->row.shared ? key(f->told, entry) / all : 0;
		put_entry(f, entry);
	}
	for (size_t k = 0; k < f->told->nsets; k++) {
		set_total_span(f, k);
		total->row.incomplete |= total->sum[k].counts.lost != 0;
		total->row.incomplete |= f->told->lacks;
	}
	put_entry(f, total);
	sink_end(f->next);
}

static void filter_free(struct sink *sink)
{
	struct filter *f = (struct filter *)sink;

	clear(f);
	sink_free(f->next);
	free(f);
}

struct sink *by_open(struct sink *next, enum row_by by)
{
	static const struct sink_ops ops = {
		.begin = begin, .row = put_row, .end = end, .free = filter_free};
	struct filter *f = xcalloc(1, sizeof(*f));

	f->sink.ops = &ops;
	f->next = next;
	f->by = by;
	RB_INIT(&f->entries);
	RB_INIT(&f->procs);
	return &f->sink;
}
