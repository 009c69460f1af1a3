/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * progress.h - a line on the terminal of the standard error output while the user waits.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

/* Run `n` of `total`, from 1, begins; the first one began at `begin_ns`. */
void progress_run(unsigned n, unsigned total, int64_t begin_ns);

/* Events are opened on some CPUs, which can take long.  No effect in a series of runs. */
void progress_open(unsigned nevents, unsigned ncpus);

/*
 * Shows the line if it is due: after 2 s of runs, after 1 s of opening.  To be called meanwhile.
 * Returns when it will be due, in ms; 0: it is not to come.
 */
unsigned progress_idle(void);

/* Erases the line.  Call it before anything else is written; say() does so. */
void progress_erase(void);

/* All events are open; all runs are done.  They erase the line. */
void progress_opened(void);
void progress_end(void);

#endif /* PROGRESS_H */
