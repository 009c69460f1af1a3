/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * known.h - the addresses of the handles that exist, in a hash table of small buckets.
 *
 * A public call looks up each handle before it reads it: a pointer that is NULL, destroyed or not
 * a handle must not crash the program.  Calls that sample or that are safe in signal handlers do
 * so, too: a lookup takes no lock, and reads nothing but the table.  It always compares a whole
 * bucket, so that it takes the same instructions for each handle: a program that counts its own
 * instructions between two samples gets the same number with any buffer.
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

#define KNOWN_FIRST_SHIFT 60 /* the first table has 16 buckets */

struct known_bucket {
	_Atomic(const void *) p[4]; /* NULL: free */
};

struct known_table {
	/* The former table.  A lookup may still be reading it, so it is never freed. */
	struct known_table *former;
	unsigned shift; /* 64 - the log2 of the number of buckets */
	struct known_bucket bucket[];
};

/* The handles of one kind.  A static object needs no initializer. */
struct known {
	_Atomic(struct known_table *) table; /* NULL: there was no handle yet */
};

static inline struct known_bucket *known_bucket(struct known_table *t, const void *p)
{
	return &t->bucket[(uint64_t)(uintptr_t)p * 0x9e3779b97f4a7c15ULL >> t->shift];
}

static inline const void *known_at(const struct known_bucket *b, unsigned i)
{
	return atomic_load_explicit(&b->p[i], memory_order_relaxed);
}

/* Is it a handle?  Safe in signal handlers. */
static inline bool known_has(const struct known *known, const void *p)
{
	struct known_table *t = atomic_load_explicit(&known->table, memory_order_acquire);
	const struct known_bucket *b;
	int n;

	if (t == NULL || p == NULL)
		return false;
	b = known_bucket(t, p);
	n = (known_at(b, 0) == p) + (known_at(b, 1) == p) + (known_at(b, 2) == p) +
	    (known_at(b, 3) == p);
	return n > 0;
}

/* Replaces `from` by `to`, one of which is NULL, in the bucket of the other.  False: no `from`. */
static inline bool known_replace(struct known_table *t, const void *from, const void *to)
{
	struct known_bucket *b = known_bucket(t, from != NULL ? from : to);

	for (unsigned i = 0; i < sizeof(b->p) / sizeof(*b->p); i++) {
		if (known_at(b, i) != from)
			continue;
		b->p[i] = to;
		return true;
	}
	return false;
}

/* Copies all handles to a larger table.  False: a bucket is too small. */
static inline bool known_copy(struct known_table *to, const struct known_table *from)
{
	for (size_t b = 0; b < (size_t)1 << (64 - from->shift); b++) {
		for (unsigned i = 0; i < sizeof(from->bucket->p) / sizeof(*from->bucket->p); i++) {
			const void *p = known_at(&from->bucket[b], i);

			if (p != NULL && !known_replace(to, NULL, p))
				return false;
		}
	}
	return true;
}

/*
 * Adds a new handle.  If its bucket is full, a larger table takes the place of this one.  False:
 * out of memory.
 */
static inline bool known_add(struct known *known, const void *p)
{
	struct known_table *old = known->table, *t;
	unsigned shift = old != NULL ? old->shift : KNOWN_FIRST_SHIFT + 1;

	if (old != NULL && known_replace(old, NULL, p))
		return true;
	do {
		shift--;
		t = calloc(1, sizeof(*t) + ((size_t)1 << (64 - shift)) * sizeof(*t->bucket));
		if (t == NULL)
			return false;
		t->former = old;
		t->shift = shift;
		if ((old == NULL || known_copy(t, old)) && known_replace(t, NULL, p))
			break;
		free(t); /* a bucket was too small: no lookup has seen it */
	} while (true);
	atomic_store_explicit(&known->table, t, memory_order_release);
	return true;
}

/* Removes a handle.  False: it was none. */
static inline bool known_remove(struct known *known, const void *p)
{
	return known_has(known, p) && known_replace(known->table, p, NULL);
}

/* Calls `fn` for each handle.  Safe in signal handlers, if `fn` is. */
static inline void known_each(const struct known *known, void (*fn)(const void *p, void *arg),
			      void *arg)
{
	const struct known_table *t = atomic_load_explicit(&known->table, memory_order_acquire);

	for (size_t b = 0; t != NULL && b < (size_t)1 << (64 - t->shift); b++) {
		for (unsigned i = 0; i < sizeof(t->bucket->p) / sizeof(*t->bucket->p); i++) {
			const void *p = known_at(&t->bucket[b], i);

			if (p != NULL)
				fn(p, arg);
		}
	}
}

#endif /* KNOWN_H */
