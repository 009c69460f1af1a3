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
#include "sum.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <string.h>

/* An LWP, a process, a command, an owner, a CPU or a key. */
struct entry {
	struct row row;	      /* identity and flags; texts are allocated */
	bool known;	      /* some set of its last LWP or process has counts */
	uint64_t nfini_rows;  /* SCOPE_PROCESS: fini_lwp rows, except that of LWP 1 */
	struct sum *sum;      /* by set */
	RB_ENTRY(entry) link; /* in `open` or `procs` */
};

RB_HEAD(entries, entry);

struct summary {
	struct sink sink;
	enum scope by;
	unsigned nkeys; /* 0: all */
	const struct run *run;
	struct run out; /* the run as `next` gets it; shares all pointers with `run` */
	size_t n, size;
	struct entry **entry; /* in order of their first rows */
	struct entries open;  /* entries that can still get rows */
	struct entries procs; /* SCOPE_LWP: sums of the lwp_exit rows of processes */
	struct entry *last;   /* SCOPE_LWP: the LWP of the previous row */
	struct entry *total;
	bool has_fini_rows;
	int64_t time_ns, wall_ns; /* of the last row */
};

static int compare(const struct entry *a, const struct entry *b)
{
	return row_compare(&a->row, &b->row);
}

RB_GENERATE_INTERNAL(entries, entry, link, compare, __attribute__((unused)) static)

/* ---- entries --------------------------------------------------------------------- */

static struct entry *new_entry(const struct summary *s, const struct row *id)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	entry->row = *id;
	row_copy_texts(&entry->row);
	entry->sum = xcalloc(s->run->nsets, sizeof(*entry->sum));
	return entry;
}

static void free_entry(struct entry *entry)
{
	if (entry == NULL)
		return;
	row_free_texts(&entry->row);
	free(entry->sum);
	free(entry);
}

/* Appends an entry to the summary; it is not in `open`. */
static struct entry *append(struct summary *s, const struct row *id)
{
	if (s->n == s->size) {
		s->size = s->size * 2 + 64;
		s->entry = xrealloc(s->entry, s->size * sizeof(struct entry *));
	}
	return s->entry[s->n++] = new_entry(s, id);
}

static struct entry *find(struct entries *entries, const struct row *id)
{
	struct entry key = {.row = *id};

	return RB_FIND(entries, entries, &key);
}

static struct entry *find_or_append(struct summary *s, const struct row *id)
{
	struct entry *entry = find(&s->open, id);

	if (entry != NULL)
		return entry;
	entry = append(s, id);
	RB_INSERT(entries, &s->open, entry);
	return entry;
}

/* An LWP or process has rows for all sets; it is incomplete if none of them has counts. */
static void add_to_entry(const struct summary *s, struct entry *entry, const struct row *row)
{
	struct sum *sum = &entry->sum[row->set];

	sum_add(sum, &s->run->set[row->set], row);
	entry->known = row->valid != 0 || (entry->known && row->set > 0);
	entry->row.incomplete |=
		sum->incomplete || (row->set + 1 == s->run->nsets && !entry->known);
}

/* Adds a row to an entry of the summary, and so to the total. */
static void add_row(struct summary *s, struct entry *entry, const struct row *row)
{
	add_to_entry(s, entry, row);
	sum_add(&s->total->sum[row->set], &s->run->set[row->set], row);
}

/* ---- LWPs -------------------------------------------------------------------------- */

/* The rows of an LWP, one per set, follow each other, except in a forged record. */
static void add_lwp(struct summary *s, const struct row *row)
{
	if (row->set == 0 || s->last == NULL) {
		const struct row id = {
			.pid = row->pid, .lwp = row->lwp, .tid = row->tid, .comm = row->comm};

		s->last = append(s, &id);
		s->last->row.runs = 1;
	}
	add_row(s, s->last, row);
}

/* Adds an LWP other than LWP 1, of a record without fini_lwp rows. */
static void add_lwp_exit(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};
	struct entry *proc = find(&s->procs, &id);

	add_lwp(s, row);
	if (proc == NULL) {
		proc = new_entry(s, &id);
		RB_INSERT(entries, &s->procs, proc);
	}
	add_to_entry(s, proc, row);
}

/* Adds LWP 1 from the total of its process, of a record without fini_lwp rows. */
static void add_first_lwp(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};
	struct entry *proc = find(&s->procs, &id);
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

		first.incomplete |= proc->row.incomplete;
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
	if (proc != NULL && row->set + 1 == s->run->nsets) {
		RB_REMOVE(entries, &s->procs, proc);
		free_entry(proc);
	}
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
static void close_process(struct summary *s, struct entry *entry, const char *comm)
{
	RB_REMOVE(entries, &s->open, entry);
	if (comm != NULL) {
		free((char *)entry->row.comm);
		entry->row.comm = xstrdup(comm);
	}
	/* LWPs that were there before the attach have no lwp_create row. */
	if (entry->row.runs < entry->nfini_rows)
		entry->row.runs = entry->nfini_rows;
	entry->row.runs++; /* LWP 1 */
}

/* A process has a total for each program that it ran. */
static void put_process(struct summary *s, const struct row *row)
{
	const struct row id = {.pid = row->pid};
	struct entry *entry;

	if (row->kind == ROW_LWP_CREATE) {
		find_or_append(s, &id)->row.runs++;
	} else if (row->kind == ROW_FINI_LWP) {
		find_or_append(s, &id)->nfini_rows += row->lwp != 1 && row->set == 0;
	} else if (row_is_program_total(row)) {
		entry = find_or_append(s, &id);
		add_row(s, entry, row);
		if (row->kind != ROW_EXEC && row->set + 1 == s->run->nsets)
			close_process(s, entry, row->comm);
	}
}

/* Adds the total of a program to the entry of its command or owner. */
static void add_program(struct summary *s, const struct row *id, const struct row *row)
{
	struct entry *entry;

	if (!row_is_program_total(row))
		return;
	entry = find_or_append(s, id);
	entry->row.runs += row->set == 0;
	add_row(s, entry, row);
}

static void put_command(struct summary *s, const struct row *row)
{
	const struct row id = {.comm = row->comm};

	add_program(s, &id, row);
}

static void put_owner(struct summary *s, const struct row *row)
{
	struct row id = {.scope = s->by};

	if (s->by == SCOPE_USER) {
		id.key = row->user;
	} else {
		id.key = row->key;
		id.key_kind = row->key_kind;
		id.container = row->container;
		id.pod = row->pod;
	}
	if (id.key == NULL)
		row_set_fixed_key(&id, KEY_UNKNOWN);
	add_program(s, &id, row);
}

/* ---- CPUs -------------------------------------------------------------------------- */

static void put_cpu(struct summary *s, const struct row *row)
{
	const struct row id = {.scope = row->scope,
			       .id = row->id,
			       .key = row->key,
			       .key_kind = row->key_kind,
			       .container = row->container,
			       .pod = row->pod};
	struct entry *entry;

	if (row->kind != ROW_TICK)
		return;
	entry = find_or_append(s, &id);
	entry->row.ncpus = row->ncpus > entry->row.ncpus ? row->ncpus : entry->row.ncpus;
	entry->known = true; /* sets take turns: a CPU has a row for one set at a time */
	add_row(s, entry, row);
	entry->row.incomplete |= row->ncpus == 0;
}

/* ---- the end of the run -------------------------------------------------------------- */

static double first_count(const struct run *run, const struct entry *entry)
{
	return count_real(&run->set[0].event[0], entry->sum[0].val[0]);
}

static bool has_first_count(const struct entry *entry)
{
	return (entry->sum[0].valid & 1) != 0;
}

/* Largest first, unknown counts last.  Not by first_count(), which rounds. */
static int by_count(const void *a, const void *b, void *arg)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	bool is_signed = ((const struct run *)arg)->set[0].event[0].is_signed;
	uint64_t bias = is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t u = x->sum[0].val[0] ^ bias, v = y->sum[0].val[0] ^ bias;

	if (has_first_count(x) != has_first_count(y))
		return has_first_count(x) ? -1 : 1;
	if (has_first_count(x) && u != v)
		return u > v ? -1 : 1;
	return compare(x, y);
}

static void sort_entries(struct summary *s)
{
	if (s->n > 0)
		qsort_r(s->entry, s->n, sizeof(struct entry *), by_count,
			(void *)(uintptr_t)s->run);
}

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
	to->row.incomplete |= from->row.incomplete;
	to->row.ncpus = from->row.ncpus;
}

/* Adds up the keys beyond the largest ones.  The entries are sorted. */
static void add_up_others(struct summary *s)
{
	struct row id = {.scope = s->run->scope};
	size_t n = s->n, nkeys = 0;
	struct entry *others = NULL;

	for (size_t i = 0; i < n; i++)
		nkeys += s->entry[i]->row.key_kind == KEY_NAME;
	if (nkeys <= s->nkeys)
		return;
	row_set_fixed_key(&id, KEY_OTHERS);
	others = find_or_append(s, &id);
	n = s->n;
	s->n = nkeys = 0;
	for (size_t i = 0; i < n; i++) {
		struct entry *entry = s->entry[i];

		if (entry->row.key_kind != KEY_NAME || nkeys++ < s->nkeys) {
			s->entry[s->n++] = entry;
		} else {
			add_entry(s, others, entry);
			RB_REMOVE(entries, &s->open, entry);
			free_entry(entry);
		}
	}
	sort_entries(s);
}

/* The span of a set: the longest span of a CPU, since CPUs count at the same time. */
static int64_t cpus_span(const struct summary *s, size_t set)
{
	int64_t span_ns = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->entry[i]->sum[set].span_ns > span_ns)
			span_ns = s->entry[i]->sum[set].span_ns;
	}
	return span_ns;
}

static void put_entry(const struct summary *s, const struct entry *entry, enum row_kind kind)
{
	struct row row = entry->row;

	row.kind = kind;
	row.time_ns = s->time_ns;
	row.wall_ns = s->wall_ns;
	if (row.comm != NULL && *row.comm == '\0')
		row.comm = NULL;
	for (row.set = 0; row.set < s->run->nsets; row.set++) {
		const struct sum *sum = &entry->sum[row.set];

		sum_fill_row(sum, &row);
		row.incomplete = entry->row.incomplete;
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
		const struct sum *sum = &s->total->sum[k];

		if (sum->span_ns != 0 && sum->begin_ns < begin_ns)
			begin_ns = sum->begin_ns;
	}
	return begin_ns >= 0 ? s->time_ns - begin_ns : -1;
}

static void put_total(struct summary *s)
{
	struct row *row = &s->total->row;
	int64_t span_ns = lwps_span(s);

	for (size_t i = 0; i < s->n; i++) {
		row->incomplete |= s->entry[i]->row.incomplete;
		row->runs += s->entry[i]->row.runs;
		if (s->entry[i]->row.key != NULL)
			row->ncpus = s->entry[i]->row.ncpus;
		else
			row->ncpus += s->entry[i]->row.ncpus;
	}
	for (size_t k = 0; k < s->run->nsets; k++)
		row->incomplete |= s->total->sum[k].incomplete;
	row->incomplete |= s->run->incomplete;
	for (size_t k = 0; k < s->run->nsets; k++)
		s->total->sum[k].span_ns = s->run->of_cpus ? cpus_span(s, k) : span_ns;
	put_entry(s, s->total, ROW_TOTAL);
}

/* ---- the sink ---------------------------------------------------------------------- */

/* At the end, and before another run. */
static void clear(struct sink *sink)
{
	struct summary *s = (struct summary *)sink;
	struct entry *entry, *next;

	for (size_t i = 0; i < s->n; i++)
		free_entry(s->entry[i]);
	free(s->entry);
	RB_FOREACH_SAFE(entry, entries, &s->procs, next)
	{
		RB_REMOVE(entries, &s->procs, entry);
		free_entry(entry);
	}
	free_entry(s->total);
	RB_INIT(&s->open);
	s->entry = NULL;
	s->last = s->total = NULL;
	s->n = s->size = 0;
	s->has_fini_rows = false;
	s->time_ns = s->wall_ns = 0;
}

static void summary_begin(struct sink *sink, const struct run *run)
{
	struct summary *s = (struct summary *)sink;
	const struct row all = {.scope = SCOPE_ALL};

	clear(sink);
	s->run = run;
	s->out = *run;
	s->out.by = s->by;
	if (!run->of_cpus && scope_is_owner(s->by))
		s->out.scope = s->by;
	s->total = new_entry(s, &all);
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

static void summary_end(struct sink *sink)
{
	struct summary *s = (struct summary *)sink;
	double all = 0;

	sort_entries(s);
	if (s->nkeys > 0)
		add_up_others(s);
	for (size_t i = 0; i < s->n; i++)
		all += has_first_count(s->entry[i]) ? first_count(s->run, s->entry[i]) : 0;
	for (size_t i = 0; i < s->n; i++) {
		struct entry *entry = s->entry[i];

		entry->row.shared = all > 0 && has_first_count(entry);
		entry->row.share = entry->row.shared ? first_count(s->run, entry) / all : 0;
		put_entry(s, entry, ROW_SUM);
	}
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
	RB_INIT(&s->open);
	RB_INIT(&s->procs);
	return &s->sink;
}
