/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * refuse.h - LWPs that run on uncounted.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "tally.h"

/* Reports why, from `error`, once for each error; it was found at `event`. */
void refuse_lwp(struct tally *tally, struct tally_lwp *lwp, const char *event, int error);
/* The caller reports why. */
void refuse_lwp_silently(struct tally *tally, struct tally_lwp *lwp);

#endif /* REFUSE_H */
