/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * chld.h - SIGCHLD, by which the kernel says that somebody reports to a loop.
 */
#ifndef PCTXI_CHLD_H
#define PCTXI_CHLD_H

#include "tracee.h"

/*
 * From the first loop to the last, SIGCHLD has its default action: ignored or with SA_NOCLDSTOP
 * set, it would not tell of stops.  `loop->old_chld` becomes what it did before.
 */
void pctxi_chld_hold(struct pctxi_loop *loop);
void pctxi_chld_release(struct pctxi_loop *loop);

/* Between the two, in any number of threads, it has a handler, the same for all. */
void pctxi_chld_catch(void (*handler)(int sig, siginfo_t *info, void *context));
void pctxi_chld_catch_end(void);

/*
 * The thread of `loop` took one, which may have been for another loop: their threads get it,
 * too.  Also for the handler, in a thread that is in no other function of these.
 */
void pctxi_chld_pass_on(const struct pctxi_loop *loop, const siginfo_t *info);

#endif /* PCTXI_CHLD_H */
