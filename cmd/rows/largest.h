/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * largest.h - a filter before a writer: rows of the largest keys, and one for all others (--keys).
 */
#ifndef LARGEST_H
#define LARGEST_H

#include "sink.h"

/*
 * Passes on rows of `n` keys in each sample, and of (idle), (kernel) and (none).  The others are
 * added up in (others).  Rows without keys pass.  `next` is the writer and is freed with this sink.
 */
struct sink *largest_open(struct sink *next, unsigned n);

#endif /* LARGEST_H */
