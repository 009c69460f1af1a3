/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.h - mean and deviation of each event over several runs of a command (-r).
 */
#ifndef STATS_H
#define STATS_H

#include "format.h"

/*
 * Adds up each run, and prints a table of all runs when the sink is freed.  `compare`: the path of
 * a record of cputrack, with whose runs each event is compared; or NULL.  Returns NULL after a
 * message: the file is not a record.
 */
struct sink *stats_open(FILE *file, const struct style *style, const char *compare);

#endif /* STATS_H */
