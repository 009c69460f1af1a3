/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.h - what SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z do to a run.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "track.h"

#include <libpctx.h>
#include <stdbool.h>

/*
 * Installs the handlers: for a command, signals are passed on to it; without one they
 * end the tracking.  Until signals_act_on() they are only kept.
 */
void signals_catch(struct track *track, bool command);

/* The command was started as process `pid`; it must still be our child, alive or not. */
void signals_command(pid_t pid);

/* Signals act on `pctx` from now on, also one that came before. */
void signals_act_on(pctx_t *pctx);

/* The run is over; signals that still come do nothing. */
void signals_forget(void);

#endif /* SIGNALS_H */
