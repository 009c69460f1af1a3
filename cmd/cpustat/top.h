/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.h - shows the last sample on the screen of a terminal, largest counts first (--top).
 */
#ifndef TOP_H
#define TOP_H

#include "../rows/format.h"

extern const struct format top_format;

/* Is the standard output a terminal with the necessary capabilities?  False after a message. */
bool top_possible(void);

#endif /* TOP_H */
