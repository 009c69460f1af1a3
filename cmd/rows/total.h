/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * total.h - filters before a writer: a total of all processes (--total), no rows without counts
 * (--changed).
 */
#ifndef TOTAL_H
#define TOTAL_H

#include "sink.h"

/* Both free `next` with the sink, and never return NULL. */

/* Appends a ROW_TOTAL per set to a run of LWPs: the sum over all processes. */
struct sink *total_open(struct sink *next);

/* Omits rows of samples whose counts are all 0. */
struct sink *changed_open(struct sink *next);

#endif /* TOTAL_H */
