/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * summary.h - a filter before a writer: at the end of a run, a summary replaces its rows (--by).
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "sink.h"

/*
 * Passes to `next`, which is freed with this sink, a ROW_SUM for each set of each LWP, process,
 * command or CPU, sorted by the first event, largest first, and then a ROW_TOTAL for each set.
 * A sum is incomplete if a row is missing or incomplete.  `nkeys` > 0: of keys, only the `nkeys`
 * largest, and the sum of all others.  Never NULL.
 */
struct sink *summary_open(struct sink *next, enum row_by by, unsigned nkeys);

#endif /* SUMMARY_H */
