/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * run.h - a run of cputrack, from the sets of events to the exit status.
 */
#ifndef RUN_H
#define RUN_H

#include "../program/program.h"
#include "pids.h"
#include "track/engine_select.h"
#include "track/track.h"

/* What the command line says. */
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
	bool top;	     /* rows are shown on a screen */
};

/* Counts the command, or the processes of -p, to the end.  Returns the exit status. */
int run_count(struct config *cfg, cpc_t *cpc);

#endif /* RUN_H */
