/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* chld.h - SIGCHLD, by which the kernel announces reports to a loop. */
#ifndef PCTXI_CHLD_H
#define PCTXI_CHLD_H

#include "tracee.h"

/*
 * While there are loops, SIGCHLD has its default action: if it is ignored, or has SA_NOCLDSTOP,
 * the kernel does not announce stops.  Stores the previous action in `loop->old_chld`.
 */
void pctxi_chld_hold(struct pctxi_loop *loop);
void pctxi_chld_release(struct pctxi_loop *loop);

/* Between these two calls, in any number of threads, SIGCHLD has a handler, the same for all. */
void pctxi_chld_catch(void (*handler)(int sig, siginfo_t *info, void *context));
void pctxi_chld_catch_end(void);

/* Blocks or unblocks SIGCHLD (SIG_BLOCK, SIG_UNBLOCK) in the calling thread. */
void pctxi_chld_mask(int how, sigset_t *old);
/* Waits for a blocked SIGCHLD, and passes it on to the other loops.  `timeout` NULL: none. */
int pctxi_chld_wait(const struct pctxi_loop *loop, const struct timespec *timeout);

/*
 * Sends a SIGCHLD that the thread of `loop` took to the threads of the other loops, because
 * it may have been meant for them.  Safe in the signal handler, unless that interrupted
 * another of these functions.
 */
void pctxi_chld_pass_on(const struct pctxi_loop *loop, const siginfo_t *info);

#endif /* PCTXI_CHLD_H */
