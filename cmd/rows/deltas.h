/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deltas.h - a filter: makes each interval of a run of LWPs a run of its own.
 */
#ifndef DELTAS_H
#define DELTAS_H

#include "sink.h"

/*
 * At each sample and at the end, passes to `next`, which is freed with this sink, a run with the
 * counts since the sample before: fini_lwp rows of LWPs, and an exec or detach row for each program
 * that ran.  The rows of all these runs add up to those of the whole run.  The source must put
 * fini_lwp rows.  Never NULL.
 */
struct sink *deltas_open(struct sink *next);

#endif /* DELTAS_H */
