/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * refuse.h - LWPs that run on uncounted.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include "counted.h"

/* For the reason in `error`, which is told, with the name of the `event` at which that was found.
 */
void refuse_lwp(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp,
		const char *event, int error);
/* For a reason that is told by the caller. */
void refuse_lwp_untold(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);

#endif /* REFUSE_H */
