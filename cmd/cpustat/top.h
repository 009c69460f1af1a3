/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.h - the last sample as one screen of a terminal, largest counts first.
 */
#ifndef TOP_H
#define TOP_H

#include "../rows/format.h"

/* A "format" for a terminal. */
extern const struct format top_format;

/* Can the standard output be drawn on?  False after a message. */
bool top_possible(void);

#endif /* TOP_H */
