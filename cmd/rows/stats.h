/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.h - what several runs of a command have in common: mean and deviation of each event.
 */
#ifndef STATS_H
#define STATS_H

#include "format.h"

/*
 * A sink that adds up each run that it is told, and writes a table of all of them when it is
 * freed.  With `compare`, the path of a record of cputrack, each event is compared with the
 * runs in it.  NULL after a message: that is no record.
 */
struct sink *stats_open(FILE *file, const struct style *style, const char *compare);

#endif /* STATS_H */
