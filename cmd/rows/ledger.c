/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ledger.c - the table of the objects that rows count, with their sums.
 */
#include "ledger.h"

#include "../base/util.h"

#include <stdlib.h>

static int compare(const struct entry *a, const struct entry *b)
{
	return row_compare(&a->id, &b->id);
}

RB_GENERATE_INTERNAL(entries, entry, link, compare, __attribute__((unused)) static)

void ledger_init(struct ledger *ledger, size_t size, size_t nsets)
{
	*ledger = (struct ledger){.size = size, .nsets = nsets};
	TAILQ_INIT(&ledger->list);
	RB_INIT(&ledger->open);
}

void ledger_clear(struct ledger *ledger)
{
	struct entry *entry;

	while ((entry = TAILQ_FIRST(&ledger->list)) != NULL)
		ledger_remove(ledger, entry);
}

void *ledger_find(struct ledger *ledger, const struct row *id)
{
	struct entry wanted = {.id = *id};

	return RB_FIND(entries, &ledger->open, &wanted);
}

void *ledger_get(struct ledger *ledger, const struct row *id)
{
	void *entry = ledger_find(ledger, id);

	return entry != NULL ? entry : ledger_add(ledger, id);
}

void *ledger_add(struct ledger *ledger, const struct row *id)
{
	struct entry *entry = xcalloc(1, ledger->size);

	entry->id = *id;
	row_copy_texts(&entry->id);
	entry->sum = xcalloc(ledger->nsets, sizeof(*entry->sum));
	TAILQ_INSERT_TAIL(&ledger->list, entry, next);
	RB_INSERT(entries, &ledger->open, entry);
	ledger->n++;
	return entry;
}

void ledger_close(struct ledger *ledger, struct entry *entry)
{
	if (!entry->closed)
		RB_REMOVE(entries, &ledger->open, entry);
	entry->closed = true;
}

void ledger_move_last(struct ledger *ledger, struct entry *entry)
{
	TAILQ_REMOVE(&ledger->list, entry, next);
	TAILQ_INSERT_TAIL(&ledger->list, entry, next);
}

void ledger_remove(struct ledger *ledger, struct entry *entry)
{
	ledger_close(ledger, entry);
	TAILQ_REMOVE(&ledger->list, entry, next);
	ledger->n--;
	row_free_texts(&entry->id);
	free(entry->sum);
	free(entry);
}

struct entry *ledger_next(struct ledger *ledger, struct entry *entry)
{
	return entry == NULL ? RB_MIN(entries, &ledger->open)
			     : RB_NEXT(entries, &ledger->open, entry);
}

/* Not as floating-point numbers, which round. */
static int by_count(const void *a, const void *b, void *arg)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	const uint64_t bias = ((const struct run_event *)arg)->is_signed ? UINT64_C(1) << 63 : 0;
	const bool known = x->sum[0].valid & 1;
	const uint64_t m = x->sum[0].val[0] ^ bias, n = y->sum[0].val[0] ^ bias;

	if (known != (y->sum[0].valid & 1))
		return known ? -1 : 1;
	if (known && m != n)
		return m > n ? -1 : 1;
	return compare(x, y);
}

struct entry **ledger_sorted(const struct ledger *ledger, const struct run_event *event)
{
	struct entry **sorted = xcalloc(ledger->n + 1, sizeof(struct entry *)), *entry;
	size_t n = 0;

	TAILQ_FOREACH(entry, &ledger->list, next)
		sorted[n++] = entry;
	qsort_r(sorted, n, sizeof(struct entry *), by_count, (void *)(uintptr_t)event);
	return sorted;
}
