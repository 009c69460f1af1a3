/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pace.h - when counting begins and ends, and when rows are written.
 */
#ifndef PACE_H
#define PACE_H

#include "engine.h"

/* Call it when no event is pending.  Returns when to call again, in ms; 0: after the next event. */
uint_t pace_idle(struct engine *engine);

/* The shorter one of two waits in ms, where 0 is without end. */
uint_t pace_sooner(uint_t a, uint_t b);

/* For signal handlers: tracking ends after a last sample of all LWPs. */
void pace_stop(struct engine *engine);

#endif /* PACE_H */
