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

#include "row.h"

#include <stdlib.h>

struct sink;

struct sink_ops {
	/* `run` is valid until end or, without one, free.  Only row is required. */
	void (*begin)(struct sink *sink, const struct run *run);
	void (*row)(struct sink *sink, const struct row *row);
	void (*sampled)(struct sink *sink);
	/* After a sample: `key` has no rows of this set any more; another key replaces it. */
	void (*forget)(struct sink *sink, size_t set, const char *key);
	void (*end)(struct sink *sink);
	void (*free)(struct sink *sink); /* NULL: call free(3) */
};

struct sink {
	const struct sink_ops *ops;
};

static inline void sink_begin(struct sink *sink, const struct run *run)
{
	if (sink->ops->begin != NULL)
		sink->ops->begin(sink, run);
}

static inline void sink_row(struct sink *sink, const struct row *row)
{
	sink->ops->row(sink, row);
}

static inline void sink_sampled(struct sink *sink)
{
	if (sink->ops->sampled != NULL)
		sink->ops->sampled(sink);
}

static inline void sink_forget(struct sink *sink, size_t set, const char *key)
{
	if (sink->ops->forget != NULL)
		sink->ops->forget(sink, set, key);
}

static inline void sink_end(struct sink *sink)
{
	if (sink->ops->end != NULL)
		sink->ops->end(sink);
}

static inline void sink_free(struct sink *sink)
{
	if (sink != NULL && sink->ops->free != NULL)
		sink->ops->free(sink);
	else
		free(sink);
}

#endif /* SINK_H */
