/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * feed.c - writes rows in good time, and ends the tracking when nobody reads them.
 */
#include "feed.h"

#include "../common/util.h"

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

static void check(struct feed *feed, pctx_t *pctx, int error)
{
	feed->error = error;
	if (error == 0)
		return;
	output_tell(error);
	pctx_terminate(pctx);
}

void feed_flush(struct feed *feed, pctx_t *pctx)
{
	if (feed->error != 0)
		return;
	check(feed, pctx, output_flush(feed->output));
	feed->flushed_ns = now_ns();
	feed->unflushed = false;
}

uint_t feed_idle(struct feed *feed, pctx_t *pctx, bool watch)
{
	int64_t wait = feed->flushed_ns + FLUSH_NS - now_ns();

	if (feed->unflushed && wait > 0)
		return (uint_t)(wait / 1000000 + 1);
	if (feed->unflushed)
		feed_flush(feed, pctx);
	if (!watch || !feed->has_reader || feed->error != 0)
		return 0;
	check(feed, pctx, output_poll(feed->output));
	return READER_MS;
}
