/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pace.h - when counting begins and ends, and when rows are written.
 */
#ifndef PACE_H
#define PACE_H

#include "engine.h"

#include <signal.h>

struct pace {
	struct engine *engine;
	struct track *track;
	volatile sig_atomic_t suspend; /* stop once the command has stopped */
};

/* The `idle` of an engine's config, for a struct pace. */
uint_t pace_idle(void *arg);

/* For signal handlers: tracking ends after a last sample of all LWPs. */
void pace_stop(struct pace *pace);

/*
 * For signal handlers: ^Z asks us to stop, or SIGCONT takes that back.  We stop after the
 * command has stopped, since its own handler may have work to do before.
 */
void pace_suspend(struct pace *pace, bool suspend);

#endif /* PACE_H */
