/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pace.c - when counting begins and ends, and when rows are written.
 */
#include "pace.h"

#include "../../base/util.h"
#include "../../program/top/top.h"

#define MS 1000000 /* ns */

void pace_stop(struct pace *pace)
{
	pace->track->last_sample = true;
	pace->engine->ops->stop(pace->engine);
}

void pace_suspend(struct pace *pace, bool suspend)
{
	pace->suspend = suspend;
}

/* Begins or ends counting when that is due.  Returns when it is, in ms; 0: never. */
static uint_t keep_time(struct pace *pace)
{
	const struct track *track = pace->track;
	struct engine *engine = pace->engine;
	int64_t now = now_ns();

	if (engine->waiting && now >= track->begin_ns)
		engine->ops->begin(engine);
	if (engine->waiting)
		return (uint_t)((track->begin_ns - now) / MS + 1);
	if (track->end_ns == INT64_MAX)
		return 0;
	if (now < track->end_ns)
		return (uint_t)((track->end_ns - now) / MS + 1);
	pace_stop(pace);
	return 0;
}

/* A signal has asked to stop as soon as the command is tracked no more. */
static void follow_command(struct pace *pace)
{
	const struct command *command = pace->track->command;

	if (command != NULL && command->left && command->stop_at)
		pace_stop(pace);
}

/* The shorter one of two waits in ms, where 0 has no end. */
static uint_t sooner(uint_t a, uint_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * Tracking ends when the reader of the rows has gone; but while the command is tracked, its own
 * end is the end.
 */
uint_t pace_idle(void *arg)
{
	struct pace *pace = arg;
	struct track *track = pace->track;
	struct engine *engine = pace->engine;
	uint_t due, wait = 0;

	follow_command(pace);
	due = keep_time(pace);
	if (!top_act())
		pace_stop(pace);
	if (top_active())
		due = sooner(due, TOP_ACT_MS);
	if (pace->suspend && engine->ops->stopped(engine)) {
		if (!flusher_flush(&track->flusher))
			engine->ops->stop(engine);
		if (pace->suspend) {
			pace->suspend = 0;
			top_suspend();
			raise(SIGSTOP); /* until the shell continues the job: us and the command */
			top_resume();
		}
		return due;
	}
	if (!flusher_idle(&track->flusher, track->command == NULL || track->command->left, &wait))
		engine->ops->stop(engine);
	return sooner(due, wait);
}
