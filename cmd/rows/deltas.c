/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deltas.c - makes each interval of a run of LWPs a run of its own.
 *
 * A tick row has the counts of an interval.  A fini_lwp row and the total of a program have all
 * counts up to then, from which the counts of earlier rows are subtracted.
 */
#include "filters.h"

#include "../base/util.h"
#include "sum.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <string.h>

/* The counts of a set that earlier rows had. */
struct taken {
	uint64_t cycles, val[RUN_MAX_EVENTS];
};

/* An LWP, or a program that a process runs. */
struct node {
	struct row id;	     /* pid, lwp, tid, and texts, which are allocated; lwp 0: a program */
	struct taken *taken; /* by set */
	struct sum *sum;     /* by set: of this interval */
	bool seen;	     /* there were rows in this interval */
	bool ended;
	enum row_kind kind; /* of the rows that it gets */
	int64_t since_ns,
		last_ns;	 /* when its part of the interval began; the time of its last row */
	TAILQ_HEAD(, node) lwps; /* of a program; in the order of their first rows */
	TAILQ_ENTRY(node) link;	 /* in `lwps` or `programs` */
	RB_ENTRY(node) living;	 /* unless it ended */
};

RB_HEAD(nodes, node);

struct deltas {
	struct sink sink;
	const struct run *run;
	TAILQ_HEAD(, node) programs; /* also those that ended in this interval */
	struct nodes living;	     /* LWPs and programs */
	bool any, ticked;	     /* there were rows in this interval; tick rows */
	int64_t time_ns, wall_ns;    /* of the last tick row, or of the last row */
};

static int compare(const struct node *a, const struct node *b)
{
	if (a->id.pid != b->id.pid)
		return a->id.pid < b->id.pid ? -1 : 1;
	return (a->id.lwp > b->id.lwp) - (a->id.lwp < b->id.lwp);
}

RB_GENERATE_INTERNAL(nodes, node, living, compare, __attribute__((unused)) static)

/* ---- nodes ----------------------------------------------------------------------- */

static void replace_text(const char **to, const char *from)
{
	if (from == NULL || (*to != NULL && strcmp(*to, from) == 0))
		return;
	free((char *)*to);
	*to = xstrdup(from);
}

static void free_ids(struct node *node)
{
	free((char *)node->id.container);
	free((char *)node->id.pod);
	node->id.container = node->id.pod = NULL;
}

/* Takes over the owners of a row, which the LWP or process has now. */
static void take_owners(struct node *node, const struct row *row)
{
	node->id.scope = row->scope;
	replace_text(&node->id.user, row->user);
	if (row->key == NULL)
		return;
	replace_text(&node->id.key, row->key);
	node->id.key_kind = row->key_kind;
	if (row->container == NULL || row->pod == NULL)
		free_ids(node);
	replace_text(&node->id.container, row->container);
	replace_text(&node->id.pod, row->pod);
}

static void free_node(struct deltas *d, struct node *node)
{
	if (!node->ended)
		RB_REMOVE(nodes, &d->living, node);
	row_free_texts(&node->id);
	free(node->taken);
	free(node->sum);
	free(node);
}

static struct node *find_or_add(struct deltas *d, const struct row *row, int lwp)
{
	struct node key = {.id = {.pid = row->pid, .lwp = lwp}};
	struct node *node = RB_FIND(nodes, &d->living, &key), *program;

	if (node != NULL)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->id = key.id;
	node->kind = lwp > 0 ? ROW_FINI_LWP : ROW_DETACH;
	node->id.tid = lwp > 0 ? row->tid : row->pid;
	node->taken = xcalloc(d->run->nsets, sizeof(*node->taken));
	node->sum = xcalloc(d->run->nsets, sizeof(*node->sum));
	node->since_ns = row->time_ns - row->span_ns;
	TAILQ_INIT(&node->lwps);
	RB_INSERT(nodes, &d->living, node);
	if (lwp == 0) {
		TAILQ_INSERT_TAIL(&d->programs, node, link);
	} else {
		program = find_or_add(d, row, 0);
		TAILQ_INSERT_TAIL(&program->lwps, node, link);
	}
	return node;
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
	sum_add(&node->sum[row->set], set, &delta);
	node->seen = true;
	node->last_ns = row->time_ns;
	return delta;
}

static void end_node(struct deltas *d, struct node *node)
{
	node->ended = true;
	RB_REMOVE(nodes, &d->living, node);
}

/* ---- rows -------------------------------------------------------------------------- */

static void add_lwp(struct deltas *d, const struct row *row)
{
	struct node *lwp = find_or_add(d, row, row->lwp), *program = find_or_add(d, row, 0);
	uint64_t val[RUN_MAX_EVENTS], same[RUN_MAX_EVENTS];
	bool all = row->kind == ROW_FINI_LWP;
	struct row delta;

	replace_text(&lwp->id.comm, row->comm);
	take_owners(lwp, row);
	if (row->lwp == 1 || program->id.comm == NULL)
		replace_text(&program->id.comm, row->comm);
	take_owners(program, row);
	delta = add_counts(d, lwp, row, all, val);
	add_counts(d, program, &delta, false, same);
	if (all && row->set + 1 == d->run->nsets)
		end_node(d, lwp);
}

/* The row of a program has its total, which also covers LWPs without rows. */
static void add_program(struct deltas *d, const struct row *row)
{
	struct node *program = find_or_add(d, row, 0), *lwp;
	uint64_t val[RUN_MAX_EVENTS];

	replace_text(&program->id.comm, row->comm);
	take_owners(program, row);
	add_counts(d, program, row, true, val);
	if (row->set + 1 < d->run->nsets)
		return;
	program->kind = row->kind == ROW_EXEC ? ROW_EXEC : ROW_DETACH;
	end_node(d, program);
	TAILQ_FOREACH(lwp, &program->lwps, link) {
		if (!lwp->ended)
			end_node(d, lwp);
	}
}

static void put_node(const struct deltas *d, struct node *node)
{
	struct row row = node->id;

	row.kind = node->kind;
	row.time_ns = d->time_ns;
	row.wall_ns = d->wall_ns;
	if (node->kind != ROW_FINI_LWP)
		row.lwp = 1;
	if (d->run->nsets == 1 && node->last_ns > node->since_ns)
		row.span_ns = node->last_ns - node->since_ns;
	for (row.set = 0; row.set < d->run->nsets; row.set++) {
		sum_fill_row(&node->sum[row.set], &row);
		sink_row(d->sink.next, &row);
		node->sum[row.set] = (struct sum){0};
	}
	node->seen = false;
	node->since_ns = node->last_ns;
}

static void put_programs(struct deltas *d)
{
	struct node *program, *lwp, *next_program, *next_lwp;

	TAILQ_FOREACH_SAFE(program, &d->programs, link, next_program)
	{
		TAILQ_FOREACH_SAFE(lwp, &program->lwps, link, next_lwp)
		{
			if (lwp->seen)
				put_node(d, lwp);
			if (!lwp->ended)
				continue;
			TAILQ_REMOVE(&program->lwps, lwp, link);
			free_node(d, lwp);
		}
		if (program->seen)
			put_node(d, program);
		if (!program->ended)
			continue;
		TAILQ_REMOVE(&d->programs, program, link);
		free_node(d, program);
	}
}

/* ---- the sink ---------------------------------------------------------------------- */

/* At the end, and before another run. */
static void clear(struct sink *sink)
{
	struct deltas *d = (struct deltas *)sink;
	struct node *program, *lwp;

	while ((program = TAILQ_FIRST(&d->programs)) != NULL) {
		while ((lwp = TAILQ_FIRST(&program->lwps)) != NULL) {
			TAILQ_REMOVE(&program->lwps, lwp, link);
			free_node(d, lwp);
		}
		TAILQ_REMOVE(&d->programs, program, link);
		free_node(d, program);
	}
	d->any = d->ticked = false;
}

static void deltas_begin(struct sink *sink, const struct run *run)
{
	struct deltas *d = (struct deltas *)sink;

	clear(sink);
	d->run = run;
}

static void deltas_row(struct sink *sink, const struct row *row)
{
	struct deltas *d = (struct deltas *)sink;
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

static void deltas_sampled(struct sink *sink)
{
	struct deltas *d = (struct deltas *)sink;

	sink_begin(d->sink.next, d->run);
	put_programs(d);
	sink_end(d->sink.next);
	d->any = d->ticked = false;
}

static void deltas_end(struct sink *sink)
{
	if (((struct deltas *)sink)->any)
		deltas_sampled(sink);
}

struct sink *deltas_open(struct sink *next)
{
	static const struct sink_ops ops = {.begin = deltas_begin,
					    .row = deltas_row,
					    .sampled = deltas_sampled,
					    .end = deltas_end,
					    .free = clear};
	struct deltas *d = sink_new(sizeof(*d), &ops, next);

	TAILQ_INIT(&d->programs);
	RB_INIT(&d->living);
	return &d->sink;
}
