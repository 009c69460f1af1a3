/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * readers.h - which readers have read which running totals.
 *
 * A reader such as Prometheus computes increases from two values of a series.  So a series that
 * began since its last document is shown to it as 0 first, and the total of an object that has
 * ended is kept until all readers have read it.
 *
 * Readers have no names.  A reader is an address, a program and a connection; a new connection of
 * the same program continues for the one that was closed.
 */
#ifndef READERS_H
#define READERS_H

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reader that does not come for so long is forgotten.  A new reader may have read so long ago. */
#define READERS_STAY_NS (300 * INT64_C(1000000000))

struct reader {
	TAILQ_ENTRY(reader) next;
	uint64_t id;
	char *name;		/* its address and program */
	const void *connection; /* NULL: it is closed */
	int64_t came_ns;
	int64_t seen_ns;   /* when the last document was made that it has read; CLOCK_MONOTONIC */
	int64_t before_ns; /* `seen_ns` when that document was made */
};

struct readers {
	TAILQ_HEAD(reader_list, reader) list; /* who came last is the last one */
	size_t n;
	uint64_t last_id;
};

/* A document that was made for a reader. */
struct reading {
	uint64_t reader;
	int64_t seen_ns; /* show series that began later as 0 */
	int64_t made_ns;
};

/* At the start, there is an unknown reader: who reads may have read from the program before. */
void readers_init(struct readers *readers, int64_t now_ns);
void readers_clear(struct readers *readers);

/* A reader asks for a document. */
struct reading readers_come(struct readers *readers, const char *name, const void *connection,
			    int64_t now_ns);
/* The whole document was sent. */
void readers_got(struct readers *readers, const struct reading *reading);
void readers_hang_up(struct readers *readers, const void *connection);

/* Forgets readers that no longer come. */
void readers_expire(struct readers *readers, int64_t now_ns);
/* Have all readers read the last total of an object, whose series began at `born_ns` or before? */
bool readers_saw_end(const struct readers *readers, int64_t born_ns, int64_t ended_ns);

#endif /* READERS_H */
