/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.h - turns what happens in a tree of processes into rows.
 */
#ifndef TRACK_H
#define TRACK_H

#include "../common/setgrp.h"
#include "../out/output.h"
#include "command.h"

#include <libpctx.h>
#include <stdbool.h>

struct track_config {
	bool follow_exec, follow_fork, verbose;
	bool fini_rows;	    /* rows for fini_lwp, also if not verbose */
	bool start_off;	    /* counters are off until the program calls cpc_enable(3) */
	bool debug;	    /* report where symbols were found */
	uint_t interval_ms; /* 0: no ticks */
	uint_t count;	    /* ticks; 0: no limit */
	int64_t delay_ns;   /* from the start until LWPs are counted */
	int64_t for_ns;	    /* from then to the end of tracking; 0: no limit */
};

struct track;

/*
 * All that is passed must live as long as the track, which tells what happens to `output`;
 * `command` is what is to be started, or NULL.  Never NULL.
 */
struct track *track_new(const struct track_config *config, cpc_t *cpc, const struct setgrp *grp,
			struct output *output, struct command *command);

/* Sets the handlers of a handle whose argument is the track.  0, or -1 and errno. */
int track_watch(const struct track *track, pctx_t *pctx, bool follow_fork);

/* Tells the output that `run` begins, which must live as long as the track. */
void track_begin(struct track *track, const struct run *run);

/* Runs until nothing is left to track or track_stop(), then writes the last rows.  0, or -1. */
int track_run(struct track *track, pctx_t *pctx);

/* For signal handlers: makes track_run() return after a last tick of all LWPs. */
void track_stop(struct track *track, pctx_t *pctx);

/*
 * For signal handlers: ^Z asks us to stop, or SIGCONT takes that back.  We stop after the
 * command has stopped, since its own handler may have work to do before.
 */
void track_suspend(struct track *track, bool suspend);

/* True: some LWPs were not counted, or not to their end. */
bool track_lost(const struct track *track);

/* True: --start-disabled, and no LWP called cpc_enable(3). */
bool track_never_on(const struct track *track);

/* The errno with which output failed, or 0; tracking ended there. */
int track_output_error(const struct track *track);

/* Reports the symbols that no tracked program had.  True: there are some. */
bool track_lacks_symbols(const struct track *track);

void track_free(struct track *track);

#endif /* TRACK_H */
