/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * largest.c - rows of the largest keys, and one for all others.
 *
 * A key that has a row of its own should keep it, since running totals must not move from one key
 * to another.  So a key that counts loses its row only to one that counts much more for some time.
 * A key that does not count yields to any that does, from that sample on.
 */
#include "filters.h"

#include "../base/util.h"
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

/* The mean count of a key fades by 1/FADING in each sample. */
#define FADING 8

/* A key takes the row of another one whose mean is this many times smaller. */
#define MARGIN 2

struct key {
	struct entry entry;
	bool placed;  /* it has rows of its own */
	bool counted; /* it has a row in this sample */
	bool ended;   /* and has not counted since */
	double count; /* of the first event, in this sample */
	double mean;  /* of this count, faded */
};

struct keys_of_set {
	struct ledger keys; /* without sums */
	size_t nplaced;
};

/* A row of the current sample. */
struct held {
	struct row row;
	struct key *key;
};

struct largest {
	struct sink sink;
	unsigned n;
	const struct run *run;
	bool has_keys; /* the rows of the run */
	size_t nsets;
	struct keys_of_set *set; /* by set */
	size_t nheld, size, val_size;
	struct held *held; /* all of one set, as sink.h says */
	uint64_t *val;	   /* their counts */
	struct row last;   /* the last row of the sample */
	struct sum others; /* the counts of (others) in this sample */
};

/* At the end, and before another run. */
static void clear(struct sink *sink)
{
	struct largest *l = (struct largest *)sink;

	for (size_t k = 0; k < l->nsets; k++)
		ledger_clear(&l->set[k].keys);
	free(l->set);
	free(l->held);
	free(l->val);
	l->set = NULL;
	l->held = NULL;
	l->val = NULL;
	l->nsets = l->nheld = l->size = l->val_size = 0;
	l->others = (struct sum){0};
}

static void largest_begin(struct sink *sink, const struct run *run)
{
	struct largest *l = (struct largest *)sink;

	clear(sink);
	l->run = run;
	l->has_keys = run->of_cpus && scope_has_keys(run->scope);
	l->nsets = run->nsets;
	l->set = xcalloc(run->nsets, sizeof(*l->set));
	for (size_t k = 0; k < run->nsets; k++)
		ledger_init(&l->set[k].keys, sizeof(struct key), 0);
	sink_begin(l->sink.next, run);
}

static void hold(struct largest *l, const struct row *row, struct key *key)
{
	size_t nevents = l->run->set[row->set].nevents, at = l->nheld * nevents;

	if (l->nheld == l->size) {
		l->size = l->size * 2 + 64;
		l->held = xrealloc(l->held, l->size * sizeof(*l->held));
	}
	if (at + nevents > l->val_size) {
		l->val_size = at * 2 + RUN_MAX_EVENTS;
		l->val = xrealloc(l->val, l->val_size * sizeof(*l->val));
	}
	memcpy(&l->val[at], row->val, nevents * sizeof(*l->val));
	l->held[l->nheld++] = (struct held){*row, key};
}

static void largest_row(struct sink *sink, const struct row *row)
{
	struct largest *l = (struct largest *)sink;
	const struct row id = row_object(row);
	struct key *key;

	if (row->kind != ROW_TICK || !l->has_keys) {
		sink_row(l->sink.next, row);
		return;
	}
	l->last = *row;
	if (row->key_kind == KEY_OTHERS) {
		sum_add(&l->others, &l->run->set[row->set], row);
		return;
	}
	key = ledger_get(&l->set[row->set].keys, &id);
	if ((row->valid & 1) != 0)
		key->count += count_real(&l->run->set[row->set].event[0], row->val[0]);
	key->counted = true;
	key->ended = false;
	hold(l, row, key);
}

static void largest_ended(struct sink *sink, size_t k, const char *name)
{
	struct largest *l = (struct largest *)sink;
	const struct row id = {.key = (char *)name};
	struct key *key = l->has_keys ? ledger_find(&l->set[k].keys, &id) : NULL;

	if (key != NULL)
		key->ended = true;
	sink_ended(l->sink.next, k, name);
}

/* Those that count first, those that have ended last; of these, the largest first. */
static int by_mean(const void *a, const void *b)
{
	const struct key *x = *(struct key *const *)a, *y = *(struct key *const *)b;

	if (x->counted != y->counted)
		return x->counted ? -1 : 1;
	if (x->ended != y->ended)
		return x->ended ? 1 : -1;
	return x->mean != y->mean ? (x->mean < y->mean) - (x->mean > y->mean)
				  : row_compare(&x->entry.id, &y->entry.id);
}

/* Lists the keys with places, or the keys without, largest first. */
static size_t list_keys(struct keys_of_set *set, bool placed, struct key **list)
{
	struct entry *entry;
	size_t n = 0;

	TAILQ_FOREACH(entry, &set->keys.list, next) {
		struct key *key = (struct key *)entry;

		if (key->placed == placed && entry->id.key_kind == KEY_NAME)
			list[n++] = key;
	}
	qsort(list, n, sizeof(*list), by_mean);
	return n;
}

static void count_sample(struct keys_of_set *set)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &set->keys.list, next) {
		struct key *key = (struct key *)entry;

		key->mean += (key->count - key->mean) / FADING;
		key->count = 0;
		key->placed |= entry->id.key_kind != KEY_NAME;
	}
}

/* Gives free places to the largest keys without a place. */
static void fill_places(struct largest *l, struct keys_of_set *set, struct key **list)
{
	size_t n = list_keys(set, false, list);

	for (size_t i = 0; i < n && set->nplaced < l->n; i++, set->nplaced++)
		list[i]->placed = true;
}

/* Prepares the rows of the sample, and adds up those of keys without places. */
static void add_others(struct largest *l, size_t k)
{
	for (size_t i = 0; i < l->nheld; i++) {
		struct held *held = &l->held[i];

		held->row.key = held->key->entry.id.key;
		held->row.container = held->key->entry.id.container;
		held->row.pod = held->key->entry.id.pod;
		held->row.outer = held->key->entry.id.outer;
		held->row.val = &l->val[i * l->run->set[k].nevents];
		if (!held->key->placed)
			sum_add(&l->others, &l->run->set[k], &held->row);
	}
}

/* Passes the rows of the sample on.  They are sorted by name. */
static void put_rows(struct largest *l)
{
	struct row others = l->last;
	bool left = l->others.nrows > 0;

	row_set_fixed_key(&others, KEY_OTHERS);
	others.container = others.pod = others.outer = NULL;
	sum_fill_row(&l->others, &others);
	others.valid &= l->others.all;
	for (size_t i = 0; i < l->nheld; i++) {
		const struct held *held = &l->held[i];

		if (left && row_compare(&held->row, &others) > 0) {
			sink_row(l->sink.next, &others);
			left = false;
		}
		if (held->key->placed)
			sink_row(l->sink.next, &held->row);
	}
	if (left)
		sink_row(l->sink.next, &others);
	l->others = (struct sum){0};
	l->nheld = 0;
}

/*
 * Gives places of keys that do not count, or that have become much smaller, to the largest keys
 * without one.  These count: free_quiet() frees the others.
 */
static void change_places(struct largest *l, size_t k, struct key **list)
{
	struct keys_of_set *set = &l->set[k];
	size_t nwaiting = list_keys(set, false, list);
	struct key **placed = list + nwaiting;
	size_t nplaced = list_keys(set, true, placed);

	for (size_t i = 0; i < nwaiting && i < nplaced; i++) {
		struct key *old = placed[nplaced - 1 - i];

		if (old->counted && list[i]->mean <= MARGIN * old->mean)
			break;
		list[i]->placed = true;
		old->placed = false;
		sink_forget(l->sink.next, k, old->entry.id.key);
	}
}

/* Frees keys without a place that have no row in this sample. */
static void free_quiet(struct keys_of_set *set)
{
	struct entry *entry, *following;

	TAILQ_FOREACH_SAFE(entry, &set->keys.list, next, following)
	{
		struct key *key = (struct key *)entry;

		if (!key->placed && !key->counted)
			ledger_remove(&set->keys, entry);
		else
			key->counted = false;
	}
}

static void largest_sampled(struct sink *sink)
{
	struct largest *l = (struct largest *)sink;
	size_t k = l->last.set;
	struct keys_of_set *set;
	struct key **list;

	if (l->nheld == 0 && l->others.nrows == 0) {
		sink_sampled(l->sink.next);
		return;
	}
	set = &l->set[k];
	list = xcalloc(set->keys.n, sizeof(struct key *));
	count_sample(set);
	fill_places(l, set, list);
	change_places(l, k, list);
	add_others(l, k);
	put_rows(l);
	sink_sampled(l->sink.next);
	free_quiet(set);
	free(list);
}

struct sink *largest_open(struct sink *next, unsigned n)
{
	static const struct sink_ops ops = {.begin = largest_begin,
					    .row = largest_row,
					    .sampled = largest_sampled,
					    .ended = largest_ended,
					    .free = clear};
	struct largest *l = sink_new(sizeof(*l), &ops, next);

	l->n = n;
	return &l->sink;
}
