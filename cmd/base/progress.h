/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * progress.h - a line on the terminal with the progress of a series of runs.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

/* Shows that `done` of `total` runs are done, if stderr is a terminal and they took seconds. */
void progress_show(unsigned done, unsigned total, int64_t elapsed_ns);

/* Erases the line.  Call it before anything else is written; say() does so. */
void progress_erase(void);

#endif /* PROGRESS_H */
