/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loop.h - waits for what happens next or for the next tick.
 */
#ifndef PCTXI_LOOP_H
#define PCTXI_LOOP_H

#include "tracee.h"

/* Runs until all is over.  0, or -1 and errno, and the error handler was told. */
int pctxi_loop_run(struct pctxi_loop *loop);
/* Waits for the end of the root, which was created and left; -1 and errno. */
int pctxi_loop_wait(struct pctxi_loop *loop);
/* Waits until this process, which is leaving, has left. */
void pctxi_leave_wait(struct pctx *ctx);
/* Waits until all processes, which are leaving, have left. */
void pctxi_leave_wait_all(struct pctxi_loop *loop);
/* Of all processes, which are leaving, detaches what is stopped; does not wait. */
void pctxi_leave_now(struct pctxi_loop *loop);

#endif /* PCTXI_LOOP_H */
