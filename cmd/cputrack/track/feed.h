/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * feed.h - writes rows in good time, and ends the tracking when nobody reads them.
 */
#ifndef FEED_H
#define FEED_H

#include "../../rows/output.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct feed {
	struct output *output;
	int64_t flushed_ns;
	bool has_reader; /* the table is a pipe or the like, and is not complete */
	bool unflushed;	 /* rows were put since the last flush */
	bool sample;	 /* and those of a sample are among them */
	int error;	 /* of writing: tracking ends, and the processes run on */
};

struct feed feed_new(struct output *output);

/* Writes what was told.  False: that failed, just now or before. */
bool feed_flush(struct feed *feed);

/*
 * When nothing happens: flushes when rows have waited long enough, so that one write(2) does
 * for many that come at once.  With `watch`, looks whether somebody still reads the table,
 * since idle processes have no row to write.  `*wait_ms`: when to be called again; 0: not.
 * False: as feed_flush().
 */
bool feed_idle(struct feed *feed, bool watch, unsigned *wait_ms);

#endif /* FEED_H */
