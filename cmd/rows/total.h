/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * total.h - filters before a writer: a total of all processes, and no rows of nothing.
 */
#ifndef TOTAL_H
#define TOTAL_H

#include "sink.h"

/* Both tell `next`, which is freed with the sink, and never return NULL. */

/* Adds a last ROW_TOTAL per set to a run of LWPs: the sum over all processes and programs. */
struct sink *total_open(struct sink *next);

/* Leaves out the rows of samples in which all counts are known and 0. */
struct sink *changed_open(struct sink *next);

#endif /* TOTAL_H */
