/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * known.h - the addresses of the handles that exist, in a hash table with open addressing.
 *
 * A public call looks up each handle before it reads it: a pointer that is NULL, destroyed or not
 * a handle must not crash the program.  Calls that sample or that are safe in signal handlers do
 * so, too: a lookup takes no lock, and reads nothing but the table.  If the handle is in its home
 * slot, as most are, a lookup takes about ten instructions.
 *
 * The caller of known_add() and known_remove() holds a lock.
 */
#ifndef KNOWN_H
#define KNOWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define KNOWN_FIRST_SHIFT 58 /* the first table has 64 slots */

struct known_table {
	/* The former table.  A lookup may still be reading it, so it is never freed. */
	struct known_table *former;
	unsigned shift; /* 64 - the log2 of the number of slots */
	size_t used;	/* slots that are not NULL: half of them at most, so that lookups end */
	_Atomic(const void *) slot[];
};

/* The handles of one kind.  A static object needs no initializer. */
struct known {
	_Atomic(struct known_table *) table; /* NULL: there was no handle yet */
};

/* Marks the slot of a removed handle: the address of no handle. */
static inline const void *known_tombstone(const struct known *known)
{
	return known;
}

static inline size_t known_home(const struct known_table *t, const void *p)
{
	return (size_t)((uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15ULL >> t->shift);
}

static inline size_t known_size(const struct known_table *t)
{
	return (size_t)1 << (64 - t->shift);
}

/* The slot `n` after slot `i`. */
static inline size_t known_after(const struct known_table *t, size_t i, size_t n)
{
	return (i + n) & (known_size(t) - 1);
}

static inline const void *known_at(const struct known_table *t, size_t i)
{
	return atomic_load_explicit(&t->slot[i], memory_order_relaxed);
}

/* The slot of `p`; or an empty one if it is not in the table. */
static inline size_t known_find(const struct known_table *t, const void *p)
{
	size_t i = known_home(t, p);
	const void *q;

	while ((q = known_at(t, i)) != p && q != NULL)
		i = known_after(t, i, 1);
	return i;
}

/* The same for a `p` that is not in its home slot: is it in a later one? */
static __attribute__((noinline, unused)) bool known_later(const struct known_table *t,
							  const void *p)
{
	return known_at(t, known_find(t, p)) == p;
}

/* Is it a handle?  Safe in signal handlers. */
static inline bool known_has(const struct known *known, const void *p)
{
	const struct known_table *t = atomic_load_explicit(&known->table, memory_order_acquire);

	if (t == NULL || p == NULL)
		return false;
	return known_at(t, known_home(t, p)) == p || known_later(t, p);
}

/* Replaces the table by one of twice the size, without tombstones.  NULL: out of memory. */
static inline struct known_table *known_grow(struct known *known)
{
	struct known_table *old = known->table, *t;
	const unsigned shift = old != NULL ? old->shift - 1 : KNOWN_FIRST_SHIFT;

	t = calloc(1, sizeof(*t) + ((size_t)1 << (64 - shift)) * sizeof(*t->slot));
	if (t == NULL)
		return NULL;
	t->shift = shift;
	t->former = old;
	for (size_t i = 0; old != NULL && i < known_size(old); i++) {
		const void *p = known_at(old, i);

		if (p == NULL || p == known_tombstone(known))
			continue;
		t->slot[known_find(t, p)] = p;
		t->used++;
	}
	atomic_store_explicit(&known->table, t, memory_order_release);
	return t;
}

/* Adds a new handle.  False: out of memory. */
static inline bool known_add(struct known *known, const void *p)
{
	struct known_table *t = known->table;
	size_t i;

	if ((t == NULL || 2 * t->used >= known_size(t)) && (t = known_grow(known)) == NULL)
		return false;
	i = known_home(t, p);
	while (known_at(t, i) != NULL && known_at(t, i) != known_tombstone(known))
		i = known_after(t, i, 1);
	if (known_at(t, i) == NULL)
		t->used++;
	t->slot[i] = p;
	return true;
}

/*
 * Removes a handle.  False: it was none.  Lookups of handles in later slots pass over its
 * tombstone, which is replaced by NULL if no such slot can follow.
 */
static inline bool known_remove(struct known *known, const void *p)
{
	struct known_table *t = known->table;
	size_t i;

	if (!known_has(known, p))
		return false;
	i = known_find(t, p);
	t->slot[i] = known_tombstone(known);
	if (known_at(t, known_after(t, i, 1)) != NULL)
		return true;
	for (; known_at(t, i) == known_tombstone(known); i = known_after(t, i, (size_t)-1)) {
		t->slot[i] = NULL;
		t->used--;
	}
	return true;
}

#endif /* KNOWN_H */
