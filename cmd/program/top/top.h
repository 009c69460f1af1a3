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

/* The descriptor to wait on for keys; -1: there is no screen, or it has no keys. */
int top_keys_fd(void);

enum top_result { TOP_GOES_ON, TOP_QUIT, TOP_GONE };

/* Acts on keys, ^Z and a new size of the terminal.  TOP_GONE: the terminal was closed. */
enum top_result top_act(void);

/* Has the terminal not taken all of the screen yet?  Then call top_act() again soon. */
bool top_is_behind(void);

/* Is there a screen? */
bool top_active(void);
#define TOP_ACT_MS 50 /* how often to call top_act() where nothing waits on top_keys_fd() */

/* Restores the terminal while the program is stopped, and draws again. */
void top_suspend(void);
void top_resume(void);

#endif /* TOP_H */
