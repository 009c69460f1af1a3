/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.h - shows each interval on the screen of a terminal, largest counts first (--top).
 *
 * The screen belongs to the process: there can be one at a time.
 */
#ifndef TOP_H
#define TOP_H

#include "../../rows/format.h"

#include <stdbool.h>

/* The writer of the screen.  A source of rows of LWPs must put fini_lwp rows. */
extern const struct format top_format;

/*
 * Can the screen be drawn?  `path`: the terminal; NULL: the standard output, with keys from the
 * standard input if that is a terminal.  False after a message.
 */
bool top_possible(const char *path);

/* The terminal, if the standard output and input are those of a command. */
#define TOP_TERMINAL "/dev/tty"

#endif /* TOP_H */
