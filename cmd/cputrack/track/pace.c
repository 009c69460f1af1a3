/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pace.c - when counting begins and ends, and when rows are written.
 */
#include "pace.h"

#include "../../base/progress.h"
#include "../../base/say.h"
#include "../../base/util.h"

#include <unistd.h>

#define MS 1000000	   /* ns */
#define LEFT_NS (500 * MS) /* processes that live shorter need no message */

void pace_stop(struct engine *engine)
{
	engine->track->last_sample = true;
	engine->ops->stop(engine);
}

/* Begins or ends counting when that is due.  Returns when it will be due, in ms; 0: never. */
static uint_t begin_or_end(struct engine *engine)
{
	const struct track *track = engine->track;
	int64_t now = now_ns();

	if (engine->waiting && now >= track->begin_ns)
		engine->ops->begin(engine);
	if (engine->waiting)
		return (uint_t)((track->begin_ns - now) / MS + 1);
	if (track->end_ns == INT64_MAX)
		return 0;
	if (now < track->end_ns)
		return (uint_t)((track->end_ns - now) / MS + 1);
	pace_stop(engine);
	return 0;
}

/* Stops if a signal has asked to stop as soon as the command is no longer tracked. */
static void stop_with_command(struct engine *engine)
{
	const struct command *command = engine->track->command;

	if (command != NULL && command->left && command->stop_at)
		pace_stop(engine);
}

/* If the terminal has gone, tracking ends as without a reader.  Returns when to look again. */
static uint_t tend_output(struct engine *engine)
{
	const struct command *command = engine->track->command;
	uint_t wait;
	enum screen_asks asks = output_tend(engine->track->flusher.output, &wait);

	engine->track->hung_up |= asks == SCREEN_GONE;
	if (asks == SCREEN_QUIT || (asks == SCREEN_GONE && (command == NULL || command->left)))
		pace_stop(engine);
	return wait;
}

/*
 * Says on a terminal, once, why the tracking goes on after the end of the command.  Returns when
 * that is due.
 */
static uint_t report_left(const struct engine *engine)
{
	struct track *track = engine->track;
	const bool ends = track->end_ns != INT64_MAX || engine->config.count != 0;
	int64_t now = now_ns();

	if (track->command == NULL || !track->command->reaped || track->ending || ends ||
	    track->left_ns == INT64_MAX || !isatty(STDERR_FILENO))
		return 0;
	if (track->left_ns == 0)
		track->left_ns = now + LEFT_NS;
	if (now < track->left_ns)
		return (uint_t)((track->left_ns - now) / MS + 1);
	say("the command has ended; counting the processes that it left behind, until they end or "
	    "^C");
	track->left_ns = INT64_MAX;
	return 0;
}

uint_t pace_sooner(uint_t a, uint_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * Tracking ends when the reader of the rows has gone.  But while the command is tracked, only its
 * end ends the tracking.
 */
uint_t pace_idle(struct engine *engine)
{
	struct track *track = engine->track;
	uint_t due, wait = 0;

	stop_with_command(engine);
	due = begin_or_end(engine);
	due = pace_sooner(due, tend_output(engine));
	if (engine->reopen) {
		engine->reopen = 0;
		if (!flusher_reopen(&track->flusher))
			engine->ops->stop(engine);
	}
	if (engine->suspend && engine->ops->stopped(engine)) {
		if (!flusher_flush(&track->flusher))
			engine->ops->stop(engine);
		if (engine->suspend) {
			engine->suspend = 0;
			output_stop(track->flusher.output); /* as the command is */
		}
		return due;
	}
	if (!flusher_idle(&track->flusher, track->command == NULL || track->command->left, &wait))
		engine->ops->stop(engine);
	due = pace_sooner(due, report_left(engine));
	return pace_sooner(pace_sooner(due, wait), progress_idle());
}
