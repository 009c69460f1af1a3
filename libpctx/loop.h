/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* loop.h - waits for the next report or tick. */
#ifndef PCTXI_LOOP_H
#define PCTXI_LOOP_H

#include "tracee.h"

/*
 * Runs until all processes have exited.  0, or -1 and errno, after calling the error
 * function.
 */
int pctxi_loop_run(struct pctxi_loop *loop);
/* Waits for the exit of the root, which was created and detached; -1 and errno. */
int pctxi_loop_wait(struct pctxi_loop *loop);
/* Waits until this process, which is being detached, is detached. */
void pctxi_leave_wait(struct pctx *ctx);
/* Waits until all processes, which are being detached, are detached. */
void pctxi_leave_wait_all(struct pctxi_loop *loop);
/* Detaches the stopped LWPs of all processes, which are being detached; does not wait. */
void pctxi_leave_now(struct pctxi_loop *loop);

#endif /* PCTXI_LOOP_H */
