/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sink.h - who is told of a run: writers of formats, and filters before them.
 *
 * Tellers are cputrack, cpustat and the replay of a record.  They call begin once, then row
 * and, when all rows of a sample are told, sampled; end at last, unless they break off.
 */
#ifndef SINK_H
#define SINK_H

#include "row.h"

struct sink;

struct sink_ops {
	/* The run lives until end, or free if there is none; all but row and free may be NULL. */
	void (*begin)(struct sink *sink, const struct run *run);
	void (*row)(struct sink *sink, const struct row *row);
	void (*sampled)(struct sink *sink);
	void (*end)(struct sink *sink);
	void (*free)(struct sink *sink);
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

static inline void sink_end(struct sink *sink)
{
	if (sink->ops->end != NULL)
		sink->ops->end(sink);
}

static inline void sink_free(struct sink *sink)
{
	if (sink != NULL)
		sink->ops->free(sink);
}

#endif /* SINK_H */
