/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.h - turns what happens in a tree of processes into rows.
 */
#ifndef TRACK_H
#define TRACK_H

#include "../../rows/output.h"
#include "engine.h"
#include "uncounted.h"

#include <stdbool.h>

struct track_config {
	bool verbose;	  /* rows for init_lwp and fini_lwp */
	bool fini_rows;	  /* for fini_lwp, also if not verbose */
	int64_t delay_ns; /* from the start until LWPs are counted */
	int64_t for_ns;	  /* from then to the end of tracking; 0: no limit */
};

struct track;

/*
 * All that is passed must live as long as the track, which tells what the engine sees to
 * `output`; `command` is what is to be started, or NULL.  Never NULL.
 */
struct track *track_new(const struct track_config *config, struct engine *engine,
			struct output *output, struct command *command);

/*
 * Tells the output that `run` begins, which must live as long as the track.  If `cuts`, a
 * signal that comes while the command runs makes it a run that was cut.
 */
void track_begin(struct track *track, struct run *run, bool cuts);

/* Runs until nothing is left to track or track_stop(), then writes the last rows.  0, or -1. */
int track_run(struct track *track);

/* For signal handlers: makes track_run() return after a last tick of all LWPs. */
void track_stop(struct track *track);

/*
 * For signal handlers: ^Z asks us to stop, or SIGCONT takes that back.  We stop after the
 * command has stopped, since its own handler may have work to do before.
 */
void track_suspend(struct track *track, bool suspend);

/* The errno with which output failed, or 0; tracking ended there. */
int track_output_error(const struct track *track);

/* What was not counted, since it was not followed. */
const struct uncounted *track_uncounted(const struct track *track);

/* Cycles for which a set has counted, over all processes. */
uint64_t track_cycles(const struct track *track, size_t set);

void track_free(struct track *track);

#endif /* TRACK_H */
