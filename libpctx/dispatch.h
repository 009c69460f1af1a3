/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* dispatch.h - turns reports of waitpid(2) into calls of the caller's handlers. */
#ifndef PCTXI_DISPATCH_H
#define PCTXI_DISPATCH_H

#include "control.h"

/* lifecycle.c - events of known LWPs and processes */

/* Starts following: calls init_lwp for all existing LWPs, and resumes the stopped ones. */
void pctxi_follow(struct pctx *ctx);
/* An LWP is in its first stop. */
void pctxi_on_first_stop(struct pctxi_lwp *lwp);
/* A process has executed: only the LWP that did so remains, with the leader's thread id. */
void pctxi_on_exec(struct pctxi_lwp *lwp);
/* An LWP was reaped; if it is the last one or the leader, so was its process. */
void pctxi_on_death(struct pctxi_lwp *lwp, int status);
/* A library was mapped, or (`done`) all are. */
void pctxi_on_mapped(struct pctxi_lwp *lwp, bool done);
/*
 * LWP `tid` of process `pid` was detached, because it cannot be followed.  `ctx` is that
 * process or, for a new one, its creator's.
 */
void pctxi_on_lost(struct pctx *ctx, pid_t pid, pid_t tid, const char *reason);

/* births.c - matches a new LWP with its creator's stop, in either order */

/* An LWP is in the stop that reports a new LWP: most likely a thread, or a process. */
void pctxi_on_birth(struct pctxi_lwp *lwp, bool thread);
/* An LWP that no creator has reported yet is in its first stop. */
void pctxi_on_early_stop(struct pctxi_loop *loop, pid_t tid, bool group_stop);
/* Assigns early LWPs that the process of `creator` created, before its exit or exec is reported. */
void pctxi_assign_unreported(const struct pctxi_lwp *creator, bool ends);
/* Assigns LWPs that have waited too long for their creator's stop. */
void pctxi_assign_late(struct pctxi_loop *loop, int64_t now_ns);

/* dispatch.c */

/* Handles a report of waitpid(2). */
void pctxi_dispatch(struct pctxi_loop *loop, const struct pctxi_report *report);

/* loop.c - waits for the next report or tick */

/* Runs until all processes have exited.  0, or -1 and errno, after calling the error function. */
int pctxi_loop_run(struct pctxi_loop *loop);
/* Waits for the exit of the root, which was created and detached; -1 and errno. */
int pctxi_loop_wait(struct pctxi_loop *loop);
/* Waits until this process, which is being detached, is detached. */
void pctxi_detach_wait(struct pctx *ctx);
/* Detaches all processes, and waits for that. */
void pctxi_detach_all(struct pctxi_loop *loop);
/* Detaches the stopped LWPs of all processes, and interrupts no others; does not wait. */
void pctxi_detach_now(struct pctxi_loop *loop);

#endif /* PCTXI_DISPATCH_H */
