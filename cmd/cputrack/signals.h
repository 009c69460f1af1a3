/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.h - what SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z do to a run.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "command.h"
#include "track/pace.h"

/*
 * Installs the handlers: signals go to the command and, when it has ended or is NULL, stop
 * the tracking.  Until signals_act() they are only kept.
 */
void signals_catch(struct pace *pace, struct command *command);

/* Signals act from now on, also one that came before.  The command has been started. */
void signals_act(void);

/* Is a signal kept that is to stop the tracking before it has begun? */
bool signals_kept(void);

/* The run is over; signals that still come are kept for signals_got() only. */
void signals_forget(void);

/* The first signal that came since there is a command to run; 0: none. */
int signals_got(void);

/* "INT", say: of one that signals_got() returned. */
const char *signals_name(int sig);

#endif /* SIGNALS_H */
