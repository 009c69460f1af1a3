/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.h - turn events into rows.
 */
#ifndef TRACK_H
#define TRACK_H

#include "../../base/setgrp.h"
#include "../../rows/output.h"
#include "event.h"
#include "flusher.h"
#include "tree.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The process that was started; signal handlers use this. */
struct command {
	pid_t pid; /* 0: not started yet */
	/* Flags, but no bool: not every machine can change bytes without a lock. */
	atomic_int reaped;  /* its process id may be another process's */
	atomic_int left;    /* it is reaped, or no longer tracked since an exec */
	atomic_int stop_at; /* tracking is to stop when `left` becomes true */
	atomic_int cut;	    /* we got a signal before `left` */
};

struct track_config {
	bool verbose;	  /* rows for init_lwp and fini_lwp */
	bool fini_rows;	  /* for fini_lwp, also if not verbose */
	bool follow_exec; /* else an exec ends the tracking of its process */
	int64_t delay_ns; /* from the start until LWPs are counted */
	int64_t for_ns;	  /* from then to the end of tracking; 0: no limit */
};

#define LEFT_COMMAND 60 /* bytes of a command line that a message shows */

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
	int64_t left_ns;		   /* when to say what the tracking waits for; 0: unknown */
	int64_t last_ns;		   /* the time of the last row: times never go back */
	int64_t sample_ns, sample_wall_ns; /* time of the current sample; 0: none */
	uint64_t sample;		   /* the number of the current or last sample */
	struct row tick;		   /* the members that all its rows have in common */
	volatile sig_atomic_t last_sample; /* detached LWPs get a tick row */
	bool ending;			   /* all further rows have the time of the last sample */
	bool hung_up;			   /* the terminal of the screen has gone */
	bool ever_on;			   /* some LWP had its counters on */
	uint64_t val[RUN_MAX_EVENTS];	   /* of the current row */
	size_t nleft;			   /* programs that were not followed, */
	pid_t left_pid;			   /* the process that executed the first one... */
	char left_command[LEFT_COMMAND];   /* ...and its command line */
	struct setgrp *grp;		   /* gets the share of the time of each set */
};

/* `command`: NULL if nothing is started.  All but `config` must outlive the track. */
void track_init(struct track *track, const struct track_config *config, struct run *run,
		struct setgrp *grp, struct output *output, struct command *command);
/* Its time begins now. */
void track_start(struct track *track);

/* Returns the new LWP of a birth; else NULL. */
struct lwp *track_event(struct track *track, const struct track_event *event);

/*
 * Writes the last rows, after the last event, and frees the tree.  `incomplete`: some LWP was not
 * counted.  `cut`: a signal ended the run.
 */
void track_end(struct track *track, bool incomplete, bool cut);

/*
 * Reports the `children` and the programs that were not followed, and the options that count them.
 */
void track_print_uncounted(const struct track *track, uint64_t children);

#endif /* TRACK_H */
