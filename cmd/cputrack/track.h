/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.h - the events of a process tree, as rows.
 */
#ifndef TRACK_H
#define TRACK_H

#include "../common/out.h"
#include "../common/setgrp.h"

#include <libpctx.h>
#include <stdbool.h>

struct track_config {
	bool follow_exec, follow_fork, verbose;
	bool start_off;	    /* counters are off until the program switches them on */
	bool created;	    /* the program was started, not attached to */
	bool debug;	    /* tell where symbols are */
	uint_t interval_ms; /* 0: rows of the life cycle only */
	uint_t count;	    /* ticks; 0: no limit */
};

struct track;

/* `out` stays the caller's and must outlive it.  Never NULL. */
struct track *track_new(const struct track_config *config, const struct out *out);

/* Sets the handlers on a process whose argument is the track.  0, or -1 and errno. */
int track_watch(pctx_t *pctx, bool follow_fork);

/* Runs until there is nothing left to track, then writes the last rows.  0, or -1. */
int track_run(struct track *track, pctx_t *pctx);

/* In a signal handler: make track_run end, with a last tick of what is there. */
void track_stop(struct track *track, pctx_t *pctx);

/*
 * In a signal handler: the terminal asks us to stop, or to go on after all.  We stop
 * when the program that we started has; it may have something to put in order first.
 */
void track_suspend(struct track *track, bool suspend);

/* Were there LWPs that were not counted, or not to their end? */
bool track_lost(const struct track *track);

/* Were all counters off all the time, since no LWP called cpc_enable()? */
bool track_never_on(const struct track *track);

/* The errno with which output failed, or 0; tracking ended there. */
int track_output_error(const struct track *track);

/* Says which symbols none of the tracked programs had; true: there are some. */
bool track_lacks_symbols(const struct track *track);

void track_free(struct track *track);

#endif /* TRACK_H */
