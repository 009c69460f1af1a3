/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * feed.c - writes rows in good time, and ends the tracking when nobody reads them.
 */
#include "feed.h"

#include "../../base/util.h"

#define FLUSH_NS 20000000 /* how long a row may wait to be written */
#define READER_MS 1000	  /* how often to look for the reader of an idle table */

struct feed feed_new(struct output *output)
{
	return (struct feed){
		.output = output,
		.has_reader = output_has_reader(output),
		.unflushed = true, /* the header */
	};
}

static bool check(struct feed *feed, int error)
{
	feed->error = error;
	if (error != 0)
		output_tell(feed->output, error);
	return error == 0;
}

bool feed_flush(struct feed *feed)
{
	if (feed->error != 0)
		return false;
	if (feed->sample)
		sink_sampled(output_sink(feed->output));
	feed->sample = false;
	feed->unflushed = false;
	feed->flushed_ns = now_ns();
	return check(feed, output_flush(feed->output));
}

bool feed_idle(struct feed *feed, bool watch, unsigned *wait_ms)
{
	int64_t wait = feed->flushed_ns + FLUSH_NS - now_ns();

	*wait_ms = 0;
	/* Rather at once than with a wake-up of its own between two ticks. */
	if (feed->unflushed && wait > FLUSH_NS / 2) {
		*wait_ms = (unsigned)(wait / 1000000 + 1);
		return true;
	}
	if (feed->error != 0)
		return false;
	if (watch && feed->has_reader)
		*wait_ms = READER_MS;
	/* Of a row that may be the last, the write tells: its reader may have gone by now. */
	if (feed->unflushed)
		return feed_flush(feed);
	return *wait_ms == 0 || check(feed, output_poll(feed->output));
}
