/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * by.h - a filter before a writer: the rows of a run become a summary at its end.
 */
#ifndef BY_H
#define BY_H

#include "sink.h"

/*
 * Tells `next`, which is freed with the sink, one ROW_SUM for each LWP, process, command or
 * CPU and set, largest first by the first event, and a ROW_TOTAL for each set.  Counts are
 * sums of the totals in the run's rows; a sum that lacks some of them is incomplete.  Never
 * NULL.
 */
struct sink *by_open(struct sink *next, enum row_by by);

#endif /* BY_H */
