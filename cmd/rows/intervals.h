/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * intervals.h - filters before a writer: a summary of each interval of a run of LWPs, and at the
 * end that of the whole run.
 */
#ifndef INTERVALS_H
#define INTERVALS_H

#include "sink.h"

/*
 * `next`, which is freed with this sink, gets the run with the summary of the whole; `blocks`: and
 * before it a run for each interval.  Else the summaries of intervals are tick rows of the run.
 * Never NULL.
 */
struct sink *intervals_open(struct sink *next, enum row_by by, bool blocks);

#endif /* INTERVALS_H */
