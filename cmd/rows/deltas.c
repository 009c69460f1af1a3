/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deltas.c - what the LWPs and programs of a run counted since the last question.
 */
#include "deltas.h"

#include "../base/util.h"

#include <stdlib.h>
#include <string.h>

/* The counts of a set that earlier rows had. */
struct taken {
	uint64_t cycles, val[RUN_MAX_EVENTS];
};

/* An LWP, or a program that a process runs. */
struct node {
	struct entry entry;	   /* lwp 0: a program; closed: it has ended */
	struct row last;	   /* its names and owners, which are allocated */
	struct taken *taken;	   /* by set */
	bool seen;		   /* there were rows since the last question */
	enum row_kind kind;	   /* of the rows that it gets */
	int64_t since_ns, last_ns; /* when these counts began; the time of the last row */
	TAILQ_HEAD(, node) lwps;   /* of a program; in the order of their first rows */
	TAILQ_ENTRY(node) link;	   /* in `lwps` */
};

/* ---- nodes ----------------------------------------------------------------------- */

static void replace_text(const char **to, const char *from)
{
	if (from == NULL || (*to != NULL && strcmp(*to, from) == 0))
		return;
	free((char *)*to);
	*to = xstrdup(from);
}

/* Takes over the owners of a row, which the LWP or process has now. */
static void take_owners(struct row *id, const struct row *row)
{
	id->scope = row->scope;
	replace_text(&id->user, row->user);
	if (row->key == NULL)
		return;
	replace_text(&id->key, row->key);
	id->key_kind = row->key_kind;
	free((char *)id->container);
	free((char *)id->pod);
	free((char *)id->outer);
	id->container = id->pod = id->outer = NULL;
	replace_text(&id->container, row->container);
	replace_text(&id->pod, row->pod);
	replace_text(&id->outer, row->outer);
}

static struct node *get(struct deltas *d, const struct row *row, int lwp)
{
	struct ledger *ledger = lwp > 0 ? &d->lwps : &d->programs;
	const struct row id = {.pid = row->pid, .lwp = lwp};
	struct node *node = ledger_find(ledger, &id);

	if (node != NULL)
		return node;
	node = ledger_add(ledger, &id);
	node->kind = lwp > 0 ? ROW_FINI_LWP : ROW_DETACH;
	node->last = (struct row){
		.pid = row->pid,
		.lwp = lwp > 0 ? lwp : 1,
		.tid = lwp > 0 ? row->tid : row->pid,
	};
	node->taken = xcalloc(d->run->nsets, sizeof(*node->taken));
	node->since_ns = row->time_ns - row->span_ns;
	TAILQ_INIT(&node->lwps);
	if (lwp > 0)
		TAILQ_INSERT_TAIL(&get(d, row, 0)->lwps, node, link);
	return node;
}

static void free_node(struct ledger *ledger, struct node *node)
{
	row_free_texts(&node->last);
	free(node->taken);
	ledger_remove(ledger, &node->entry);
}

/*
 * Adds the counts of a row.  `all`: it has all counts up to now, so add only those that no earlier
 * row had.  Returns the row with the added counts, which are in `val`.
 */
static struct row add_counts(const struct deltas *d, struct node *node, const struct row *row,
			     bool all, uint64_t val[RUN_MAX_EVENTS])
{
	const struct run_set *set = &d->run->set[row->set];
	struct taken *taken = &node->taken[row->set];
	struct row delta = *row;

	for (unsigned i = 0; i < set->nevents; i++) {
		val[i] = (row->valid >> i & 1) == 0 ? 0
			 : all			    ? row->val[i] - taken->val[i]
						    : row->val[i];
		taken->val[i] += val[i];
	}
	if (all && row->valid != 0)
		delta.cycles -= taken->cycles;
	if (row->valid != 0)
		taken->cycles += delta.cycles;
	delta.val = val;
	sum_add(&node->entry.sum[row->set], set, &delta);
	node->seen = true;
	node->last_ns = row->time_ns;
	return delta;
}

/* ---- rows -------------------------------------------------------------------------- */

static void add_lwp(struct deltas *d, const struct row *row)
{
	struct node *lwp = get(d, row, row->lwp), *program = get(d, row, 0);
	uint64_t val[RUN_MAX_EVENTS], same[RUN_MAX_EVENTS];
	bool all = row->kind == ROW_FINI_LWP;
	struct row delta;

	replace_text(&lwp->last.comm, row->comm);
	take_owners(&lwp->last, row);
	if (row->lwp == 1 || program->last.comm == NULL)
		replace_text(&program->last.comm, row->comm);
	take_owners(&program->last, row);
	delta = add_counts(d, lwp, row, all, val);
	add_counts(d, program, &delta, false, same);
	if (all && row->set + 1 == d->run->nsets)
		ledger_close(&d->lwps, &lwp->entry);
}

/* The row of a program has its total, which also covers LWPs without rows. */
static void add_program(struct deltas *d, const struct row *row)
{
	struct node *program = get(d, row, 0), *lwp;
	uint64_t val[RUN_MAX_EVENTS];

	replace_text(&program->last.comm, row->comm);
	take_owners(&program->last, row);
	add_counts(d, program, row, true, val);
	if (row->set + 1 < d->run->nsets)
		return;
	program->kind = row->kind == ROW_EXEC ? ROW_EXEC : ROW_DETACH;
	ledger_close(&d->programs, &program->entry);
	TAILQ_FOREACH(lwp, &program->lwps, link)
		ledger_close(&d->lwps, &lwp->entry);
}

void deltas_add(struct deltas *d, const struct row *row)
{
	bool tick = row->kind == ROW_TICK;

	if (!tick && row->kind != ROW_FINI_LWP && !row_is_program_total(row))
		return;
	if (tick || !d->ticked) {
		d->time_ns = row->time_ns;
		d->wall_ns = row->wall_ns;
	}
	d->any = true;
	d->ticked |= tick;
	if (row_is_program_total(row))
		add_program(d, row);
	else
		add_lwp(d, row);
}

static void put_node(const struct deltas *d, struct node *node, struct sink *to)
{
	struct row row = node->last;

	row.kind = node->kind;
	row.time_ns = d->time_ns;
	row.wall_ns = d->wall_ns;
	if (d->run->nsets == 1 && node->last_ns > node->since_ns)
		row.span_ns = node->last_ns - node->since_ns;
	for (row.set = 0; row.set < d->run->nsets; row.set++) {
		sum_fill_row(&node->entry.sum[row.set], &row);
		sink_row(to, &row);
		node->entry.sum[row.set] = (struct sum){0};
	}
	node->seen = false;
	node->since_ns = node->last_ns;
}

/* Puts the rows of a program and its LWPs, and frees those that have ended.  `to` NULL: all. */
static void take(struct deltas *d, struct node *program, struct sink *to)
{
	struct node *lwp, *next;

	TAILQ_FOREACH_SAFE(lwp, &program->lwps, link, next)
	{
		if (to != NULL && lwp->seen)
			put_node(d, lwp, to);
		if (to != NULL && !lwp->entry.closed)
			continue;
		TAILQ_REMOVE(&program->lwps, lwp, link);
		free_node(&d->lwps, lwp);
	}
	if (to != NULL && program->seen)
		put_node(d, program, to);
	if (to == NULL || program->entry.closed)
		free_node(&d->programs, program);
}

void deltas_take(struct deltas *d, struct sink *to)
{
	struct entry *program, *next;

	TAILQ_FOREACH_SAFE(program, &d->programs.list, next, next)
	take(d, (struct node *)program, to);
	d->any = d->ticked = false;
}

void deltas_begin(struct deltas *d, const struct run *run)
{
	deltas_clear(d);
	d->run = run;
	ledger_init(&d->programs, sizeof(struct node), run->nsets);
	ledger_init(&d->lwps, sizeof(struct node), run->nsets);
}

void deltas_clear(struct deltas *d)
{
	if (d->run != NULL)
		deltas_take(d, NULL);
	d->run = NULL;
}
