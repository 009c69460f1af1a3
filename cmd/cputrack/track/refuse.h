/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * refuse.h - LWPs that run on uncounted.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "tally.h"

/* Gives up counting the LWP.  Reports `error`, which occurred at `event`, once for each errno. */
void refuse_lwp(struct tally *tally, struct tally_lwp *lwp, const char *event, int error);
/* The same without a message: the caller prints one. */
void refuse_lwp_silently(struct tally *tally, struct tally_lwp *lwp);

#endif /* REFUSE_H */
