/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * linking.h - find symbols in the libraries of processes as these are mapped.
 */
#ifndef LINKING_H
#define LINKING_H

#include "tally.h"

/* The process runs another program, whose libraries are unknown. */
void linking_reset(const struct tally *tally, struct tally_proc *proc);
/* Are there symbols of libraries that the process may load at any time? */
bool linking_awaits(const struct tally *tally, const struct tally_proc *proc);
/*
 * Asks libpctx to report libraries as the process maps them, from its first LWP's beginning on.
 * False: it cannot, and the LWP is refused.
 */
bool linking_watch(struct tally *tally, struct tally_lwp *lwp);
/* The set was bound, and the program lacks `missing` of its symbols: libraries may have them. */
void linking_settle(struct tally *tally, struct tally_lwp *lwp, int missing);
/*
 * Libraries were mapped into a process, with `done` the last that it starts with: looks for
 * symbols there.
 */
void linking_mapped(struct tally *tally, struct tally_proc *proc, bool done);

#endif /* LINKING_H */
