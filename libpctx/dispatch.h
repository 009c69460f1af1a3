/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * dispatch.h - from what waitpid(2) tells to the caller's handlers.
 */
#ifndef PCTXI_DISPATCH_H
#define PCTXI_DISPATCH_H

#include "control.h"

/*
 * lifecycle.c - what happens to LWPs and processes that are known
 */

/* Starts following: init_lwp for all LWPs that are there; resumes what is stopped. */
void pctxi_follow(struct pctx *ctx);
/* An LWP is in its first stop. */
void pctxi_on_first_stop(struct pctxi_lwp *lwp);
/* All LWPs but the one that called execve(2) are gone; it has the leader's thread id now. */
void pctxi_on_exec(struct pctxi_lwp *lwp);
/* An LWP was reaped; as the last one, or the leader, with its process. */
void pctxi_on_death(struct pctxi_lwp *lwp, int status);
/* A library was mapped, or (`done`) all are. */
void pctxi_on_mapped(struct pctxi_lwp *lwp, bool done);
/*
 * LWP `tid` of process `pid` was let go, since it cannot be followed.  `ctx` is that
 * process or, when it is a new one, the one that made it.
 */
void pctxi_on_lost(struct pctx *ctx, pid_t pid, pid_t tid, const char *reason);

/*
 * births.c - an LWP and its maker's word of it come together, in either order
 */

/* An LWP is in the stop that names a new one: most likely a thread, or a process. */
void pctxi_on_birth(struct pctxi_lwp *lwp, bool thread);
/* An LWP that nobody named yet is in its first stop. */
void pctxi_on_early_stop(struct pctxi_loop *loop, pid_t tid, bool group_stop);
/* Claims what the process of `maker` made, before its end or its exec is told. */
void pctxi_claim_unnamed(const struct pctxi_lwp *maker, bool ends);
/* Claims those that have waited too long for their maker's stop. */
void pctxi_claim_late(struct pctxi_loop *loop, int64_t now_ns);

/*
 * dispatch.c
 */

/* Acts on what waitpid(2) told. */
void pctxi_dispatch(struct pctxi_loop *loop, const struct pctxi_report *report);

#endif /* PCTXI_DISPATCH_H */
