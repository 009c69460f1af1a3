/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * flusher.c - write rows in time, and notice when their reader has gone.
 */
#include "flusher.h"

#include "../../base/backlog.h"
#include "../../base/util.h"

#define FLUSH_NS 20000000 /* how long a row may wait to be written */
#define READER_MS 1000	  /* how often to look for the reader of an idle table */

struct flusher flusher_new(struct output *output)
{
	return (struct flusher){
		.output = output,
		.has_reader = output_has_reader(output),
		.unflushed = true, /* the header */
	};
}

static bool check(struct flusher *flusher, int error)
{
	flusher->error = error;
	if (error != 0)
		output_report(flusher->output, error);
	return error == 0;
}

bool flusher_flush(struct flusher *flusher)
{
	if (flusher->error != 0)
		return false;
	if (flusher->sample)
		sink_sampled(output_sink(flusher->output));
	flusher->sample = false;
	flusher->unflushed = false;
	flusher->flushed_ns = now_ns();
	return check(flusher, output_flush(flusher->output));
}

bool flusher_reopen(struct flusher *flusher)
{
	return flusher_flush(flusher) && check(flusher, output_reopen(flusher->output));
}

/* Offers the rows to a reader that pauses, or writes new ones. */
static bool offer(struct flusher *flusher, unsigned *wait_ms)
{
	bool ok = flusher->unflushed ? flusher_flush(flusher)
				     : check(flusher, output_flush(flusher->output));

	if (output_is_behind(flusher->output))
		*wait_ms = BACKLOG_MS;
	return ok;
}

bool flusher_idle(struct flusher *flusher, bool watch, unsigned *wait_ms)
{
	int64_t wait = flusher->flushed_ns + FLUSH_NS - now_ns();

	*wait_ms = 0;
	/* Flush at once rather than wake up again between two ticks. */
	if (flusher->unflushed && wait > FLUSH_NS / 2) {
		*wait_ms = (unsigned)(wait / 1000000 + 1);
		return true;
	}
	if (flusher->error != 0)
		return false;
	if (watch && flusher->has_reader)
		*wait_ms = READER_MS;
	/* A failing write shows that the reader has gone. */
	if (flusher->unflushed || output_is_behind(flusher->output))
		return offer(flusher, wait_ms);
	return *wait_ms == 0 || check(flusher, output_poll(flusher->output));
}
