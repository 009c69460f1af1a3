/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.h - how a run handles SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <stdbool.h>

struct engine;

/*
 * Installs the handlers.  They pass signals on to the command while it runs; otherwise a signal
 * stops the tracking.  Until signals_act() signals are only kept.
 * False and errno: that is impossible.
 */
bool signals_catch(struct engine *engine);

/* Signals act from now on, also one that came before.  The command is our child. */
void signals_act(void);

/* Has a signal come that is to stop the tracking before it begins? */
bool signals_kept(void);

/* Does the command end within this time?  True if that is unknown. */
bool signals_command_ends(unsigned ms);

/* The run is over: only signals_got() notices signals from now on. */
void signals_forget(void);

/* The first signal of all runs; 0: none. */
int signals_got(void);

/*
 * The first signal that asks us to end, and not only the command; 0: none.  We also end if a signal
 * has killed the command.
 */
int signals_ending(void);
void signals_ended_command(void);

/* The name of a signal of signals_got(), such as "INT". */
const char *signals_name(int sig);

#endif /* SIGNALS_H */
