/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * terminal.h - the terminal of a screen: nothing waits for it, and it is restored at the end.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "../../base/backlog.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

struct terminal {
	FILE *drawing; /* for ncurses */
	/* Private to terminal.c: */
	int frame; /* the file in memory that `drawing` becomes */
	struct backlog backlog;
	struct termios before, during; /* the modes */
	sigset_t deadly;	       /* signals with our handler, which would kill us */
};

/* False and errno: impossible.  `drawing` is the terminal until terminal_begin(). */
bool terminal_open(struct terminal *t, int fd);

/*
 * The modes are set: from now on what is drawn is kept until terminal_show().  `leave`: what ends
 * the screen, if a signal kills us.
 */
void terminal_begin(struct terminal *t, const char *leave, size_t n);

/* Sends what was drawn.  False: the terminal has not taken all; draw nothing then. */
bool terminal_show(struct terminal *t);

/* Has it been closed? */
bool terminal_is_gone(const struct terminal *t);

/* Sets the modes as before the screen, after a last terminal_show(); and those of the screen. */
void terminal_leave(struct terminal *t);
void terminal_enter(const struct terminal *t);

void terminal_close(struct terminal *t);

#endif /* TERMINAL_H */
