/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * run.h - a run of cputrack, from the sets of events to the exit status.
 */
#ifndef RUN_H
#define RUN_H

#include "../program/program.h"
#include "pids.h"
#include "track/engine.h"
#include "track/track.h"

/* The parsed command line. */
struct config {
	struct options common;
	enum engine_choice engine_choice;
	struct engine_config engine;
	struct track_config track;
	bool interval_given; /* by -T */
	unsigned repeat;     /* runs of the command; 0: one, whose rows are shown */
	char **command;	     /* NULL: -p */
	char **second;	     /* compare `command` with this one; or NULL */
	struct limit limit;  /* of --fail-above */
	struct pids pids;    /* of -p */
};

/*
 * Counts the command, or the processes of -p, to the end.  `config`: a struct config.  Returns the
 * exit status.
 */
int run_count(void *config, cpc_t *cpc);

#endif /* RUN_H */
