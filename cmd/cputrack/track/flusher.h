/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * flusher.h - write rows in time, and notice when their reader has gone.
 */
#ifndef FLUSHER_H
#define FLUSHER_H

#include "../../rows/output.h"

#include <stdbool.h>
#include <stdint.h>

struct flusher {
	struct output *output;
	int64_t flushed_ns;
	bool has_reader; /* the table goes to a pipe or the like, and is not complete */
	bool unflushed;	 /* rows were written to the sink since the last flush */
	bool sample;	 /* rows of a sample are among them */
	int error;	 /* errno of a failed write, or 0 */
};

struct flusher flusher_new(struct output *output);

/* Writes the rows.  False: that failed, now or before. */
bool flusher_flush(struct flusher *flusher);
/* Opens renamed files again.  False: as flusher_flush(). */
bool flusher_reopen(struct flusher *flusher);

/*
 * To be called when no event is left: flushes rows that have waited long enough, so that many
 * rows share one write(2).  `watch` looks whether the reader is still there, since idle
 * processes cause no write that could fail.  `*wait_ms`: when to call again; 0: no need.
 * False: as flusher_flush().
 */
bool flusher_idle(struct flusher *flusher, bool watch, unsigned *wait_ms);

#endif /* FLUSHER_H */
