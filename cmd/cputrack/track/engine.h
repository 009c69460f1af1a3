/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.h - what follows processes and counts their LWPs.
 *
 * An engine reports what happens by track_event().  How it follows and counts is its own affair.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "../../base/setgrp.h"
#include "../choice.h"
#include "../command.h"
#include "../pids.h"
#include "track.h"

#include <libcpc.h>
#include <libpctx.h>
#include <stdbool.h>
#include <stdint.h>

struct owners;

struct engine_config {
	bool follow_exec, follow_fork;
	bool start_off;		 /* counters are off until the program calls cpc_enable(3) */
	bool waiting;		 /* nothing is counted before engine_ops.begin */
	const struct pids *pids; /* the processes to attach to; NULL: it starts one */
	bool descendants;	 /* attaches to all descendants of these, too */
	uint_t max_lwps;	 /* to count apart at a time; 0: the engine chooses */
	struct choice choice;	 /* what else is attached to, and what enters later */
	struct owners *owners;	 /* events carry those of LWPs; NULL: they do not */
	bool comm;		 /* events carry names of LWPs */
	bool debug;		 /* report what is found, and how */
	uint_t interval_ms;	 /* between samples; 0: none are taken */
	uint_t count;		 /* of samples; 0: no limit */
	bool (*must_stop)(void); /* a signal has asked for the end; NULL: none can */
	/* No event is left.  Returns when to call again, in ms; 0: after the next event. */
	uint_t (*idle)(void *arg);
	void *arg; /* of `idle` */
};

struct engine;

struct engine_ops {
	const char *name; /* as in --engine */
	/*
	 * Starts the program, and fills in `command`; or attaches to processes.  -1 after a
	 * message; errno says why a program cannot be started, and is 0 if that is not the reason.
	 */
	int (*start)(struct engine *engine, char **argv, struct command *command);
	int (*attach)(struct engine *engine, bool *some_failed);
	/* Follows the processes until none is left or `stop`; detaches.  -1 after a message. */
	int (*run)(struct engine *engine);
	/* Makes `run` return.  Signal handlers may call it once `start` or `attach` is done. */
	void (*stop)(struct engine *engine);
	/* Has job control stopped the command? */
	bool (*stopped)(const struct engine *engine);
	/* Counting begins, which has waited until now. */
	void (*begin)(struct engine *engine);
	/* Waits for the end of the command.  -1: its status is not known. */
	int (*wait)(struct engine *engine, int *wstatus);
	/* Lets the processes go, and says what was not counted. */
	void (*release)(struct engine *engine);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_ops *ops;
	struct engine_config config;
	cpc_t *cpc;
	const struct setgrp *grp;
	struct track *track; /* takes the events */
	bool waiting;	     /* counting has not begun */
	bool lost;	     /* LWPs were not counted, or not to their end */
	void *own;	     /* the engine's */
	uint64_t nchildren;  /* processes that are not followed; after `release` */
};

/* Prints messages of libpctx. */
pctx_errfn_t *engine_errors(const struct engine_config *config);

/* What a buffer of a set has. */
void engine_counts(cpc_t *cpc, cpc_buf_t *buf, size_t nreqs, struct track_counts *counts);

#endif /* ENGINE_H */
