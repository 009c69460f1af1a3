/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.h - turn events into rows.
 */
#ifndef TRACK_H
#define TRACK_H

#include "../../rows/output.h"
#include "../command.h"
#include "event.h"
#include "flusher.h"
#include "tree.h"
#include "uncounted.h"

#include <signal.h>
#include <stdbool.h>

/* What the totals of processes say of a set. */
struct track_share {
	bool had_turn;	 /* its counts are known, be they 0... */
	uint64_t cycles; /* ...and of so much time */
};

struct track_config {
	bool verbose;	  /* rows for init_lwp and fini_lwp */
	bool fini_rows;	  /* for fini_lwp, also if not verbose */
	bool follow_exec; /* else an exec ends the tracking of its process */
	int64_t delay_ns; /* from the start until LWPs are counted */
	int64_t for_ns;	  /* from then to the end of tracking; 0: no limit */
};

struct track {
	struct track_config config;
	struct run *run;
	struct tree tree;
	struct flusher flusher;		   /* of the output */
	struct sink *sink;		   /* of the output */
	struct command *command;	   /* NULL: attached */
	int64_t start_ns;		   /* rows have the time since then */
	int64_t begin_ns;		   /* LWPs are counted from then on... */
	int64_t end_ns;			   /* ...up to then; INT64_MAX: no limit */
	int64_t last_ns;		   /* the time of the last row: times never go back */
	int64_t sample_ns, sample_wall_ns; /* time of the current sample; 0: none */
	uint64_t sample;		   /* its number, or that of the last one */
	struct row tick;		   /* what all rows of it have in common */
	volatile sig_atomic_t last_sample; /* detached LWPs get a tick row */
	bool ending;			   /* the last rows have the time of a sample, too */
	bool ever_on;			   /* the counters of some LWP were */
	uint64_t val[RUN_MAX_EVENTS];	   /* of the current row */
	struct uncounted uncounted;	   /* what was not counted, since it was not followed */
	struct track_share *share;	   /* by set */
};

/* `run`, `output` and `command`, which is NULL if nothing is started, must outlive the track. */
void track_init(struct track *track, const struct track_config *config, struct run *run,
		struct output *output, struct command *command);
/* Its time begins now. */
void track_start(struct track *track);
void track_free(struct track *track);

/* Returns the new LWP of a birth; else NULL. */
struct lwp *track_event(struct track *track, const struct track_event *event);

/* Writes the last rows, after the last event.  `lacks`: some LWP was not counted. */
void track_end(struct track *track, bool lacks, bool cut);

#endif /* TRACK_H */
