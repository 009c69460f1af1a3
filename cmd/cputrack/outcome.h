/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outcome.h - what has happened to the runs of cputrack, and the exit status that it makes.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include "../rows/stats.h"

struct outcome {
	/* The last run. */
	int refused; /* the exit status if the command did not start, or could not be tracked; or 0
		      */
	bool lost;   /* LWPs were not counted, or not to their end */
	bool cut;    /* a signal to us ended it: no means include it */
	/* All runs. */
	bool ever_lost;
	unsigned complete;		/* runs that no signal cut */
	struct ends ends[SIDE_NEW + 1]; /* of their commands, by side */
	int sig;			/* this signal ended the runs, or the wait for the reader */
	int error;    /* errno of the output; EINTR: a signal ended the wait for its reader */
	bool hung_up; /* the terminal of the screen has gone */
};

/* A new run begins. */
void outcome_run(struct outcome *outcome);

/*
 * The command cannot be started or tracked.  `error`: why execvp(3) failed; else 0.  `sig`: the
 * signal that we got, or 0.
 */
void outcome_refused(struct outcome *outcome, int error, int sig);

/* The command ended.  SIGINT ends all runs. */
void outcome_ended(struct outcome *outcome, enum run_side side, int wstatus);

void outcome_lost(struct outcome *outcome);

/* May another run follow? */
bool outcome_goes_on(const struct outcome *outcome);

/*
 * Returns the exit status of cputrack; or minus the signal that it is to die of.  `compared`: with
 * other runs.
 */
int outcome_status(const struct outcome *outcome, bool compared, const struct limit *limit);

#endif /* OUTCOME_H */
