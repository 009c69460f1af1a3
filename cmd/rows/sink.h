/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sink.h - receivers of runs: writers of formats, and filters before them.
 *
 * cputrack, cpustat and the replay of a record are sources.  A source calls begin once, then row
 * for each row and sampled after the last row of each sample, and finally end.  After an error,
 * it does not call end.  All ticks of CPUs or keys in a sample are of one set.
 */
#ifndef SINK_H
#define SINK_H

#include "../base/util.h"
#include "row.h"

#include <stdlib.h>

struct sink;

/* Only row is required.  Calls of other functions that are NULL go to the next sink. */
struct sink_ops {
	/* `run` is valid until end or, without one, free. */
	void (*begin)(struct sink *sink, const struct run *run);
	void (*row)(struct sink *sink, const struct row *row);
	void (*sampled)(struct sink *sink);
	/* Between samples: `key` has no more rows of this set, since another key replaces it. */
	void (*forget)(struct sink *sink, size_t set, const char *key);
	/* `key` has ended, though another one of that name may come. */
	void (*ended)(struct sink *sink, size_t set, const char *key);
	void (*end)(struct sink *sink);
	/*
	 * Of a writer, during a run: what follows goes to another file.  Called before the change,
	 * to complete the old file, and after it (`begins`), so that each file is valid by itself.
	 */
	void (*next_file)(struct sink *sink, bool begins);
	/* Frees what the sink owns, except itself. */
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	struct sink *next; /* of a filter, and freed with it; NULL: a writer */
	int error;	   /* of a writer: errno if it cannot write; its file can have one, too */
};

/* Makes an object of `size` that begins with a sink; the rest of it is zero. */
static inline void *sink_new(size_t size, const struct sink_ops *ops, struct sink *next)
{
	struct sink *sink = xcalloc(1, size);

	*sink = (struct sink){ops, next, 0};
	return sink;
}

static inline void sink_begin(struct sink *sink, const struct run *run)
{
	while (sink != NULL && sink->ops->begin == NULL)
		sink = sink->next;
	if (sink != NULL)
		sink->ops->begin(sink, run);
}

static inline void sink_row(struct sink *sink, const struct row *row)
{
	sink->ops->row(sink, row);
}

static inline void sink_sampled(struct sink *sink)
{
	while (sink != NULL && sink->ops->sampled == NULL)
		sink = sink->next;
	if (sink != NULL)
		sink->ops->sampled(sink);
}

static inline void sink_forget(struct sink *sink, size_t set, const char *key)
{
	while (sink != NULL && sink->ops->forget == NULL)
		sink = sink->next;
	if (sink != NULL)
		sink->ops->forget(sink, set, key);
}

static inline void sink_ended(struct sink *sink, size_t set, const char *key)
{
	while (sink != NULL && sink->ops->ended == NULL)
		sink = sink->next;
	if (sink != NULL)
		sink->ops->ended(sink, set, key);
}

static inline void sink_end(struct sink *sink)
{
	while (sink != NULL && sink->ops->end == NULL)
		sink = sink->next;
	if (sink != NULL)
		sink->ops->end(sink);
}

static inline struct sink *sink_writer(struct sink *sink)
{
	while (sink != NULL && sink->next != NULL)
		sink = sink->next;
	return sink;
}

static inline void sink_free(struct sink *sink)
{
	if (sink == NULL)
		return;
	sink_free(sink->next);
	if (sink->ops->free != NULL)
		sink->ops->free(sink);
	free(sink);
}

#endif /* SINK_H */
