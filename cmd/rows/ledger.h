/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ledger.h - the table of the objects that rows count, with their sums.
 *
 * An object is an LWP, a process, a command, a CPU, a key, ...  Summaries, intervals, the largest
 * keys and running totals each keep a ledger.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "sum.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

/* An object.  The users of a ledger extend this struct; their members are zero at first. */
struct entry {
	struct row id;	 /* its identity by row_compare(); the texts are allocated */
	struct sum *sum; /* by set */
	bool closed;
	TAILQ_ENTRY(entry) next;
	RB_ENTRY(entry) link; /* unless it is closed */
};

RB_HEAD(entries, entry);

struct ledger {
	TAILQ_HEAD(entry_list, entry) list; /* in the order in which they were added */
	struct entries open;
	size_t n, size, nsets;
};

/* `size`: of the struct that begins with struct entry. */
void ledger_init(struct ledger *ledger, size_t size, size_t nsets);
/* Frees all entries. */
void ledger_clear(struct ledger *ledger);

/* The open entry of an object; NULL: it has none. */
void *ledger_find(struct ledger *ledger, const struct row *id);
/* Likewise, but adds a missing entry. */
void *ledger_get(struct ledger *ledger, const struct row *id);
/* Adds an entry.  The object must not have an open one. */
void *ledger_add(struct ledger *ledger, const struct row *id);
/* The object has ended: from now on its identity is that of another object. */
void ledger_close(struct ledger *ledger, struct entry *entry);
/* The entry becomes the last of the list. */
void ledger_move_last(struct ledger *ledger, struct entry *entry);
/* Frees an entry. */
void ledger_remove(struct ledger *ledger, struct entry *entry);

/* The open entries in the order of their identities.  `entry` NULL: the first; NULL: no more. */
struct entry *ledger_next(struct ledger *ledger, struct entry *entry);

/*
 * All entries, sorted by the first event of the first set: largest first, unknown counts last, and
 * equal ones by their identities.  The caller frees the array.
 */
struct entry **ledger_sorted(const struct ledger *ledger, const struct run_event *event);

#endif /* LEDGER_H */
