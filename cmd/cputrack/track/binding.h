/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * binding.h - bind sets to traced LWPs, and find their symbols in libraries as these are mapped.
 */
#ifndef BINDING_H
#define BINDING_H

#include "tally.h"

/* The process is new, or runs another program: its libraries are not known yet. */
void binding_reset(const struct tally *tally, struct tally_proc *proc);
/*
 * Binds the set whose turn it is.  If that fails, it is reported with the name of the
 * `event` at which it happened, and the LWP runs on uncounted.
 */
void binding_bind(struct tally *tally, struct tally_lwp *lwp, const char *event);
/* The wait is over: binds the sets of all LWPs. */
void binding_begin(struct tally *tally);
/* Binds the set whose turn is next; to be called right after tally_sample(). */
void binding_rotate(struct tally *tally, struct tally_lwp *lwp);
/*
 * The process has mapped libraries: looks for symbols there.  `done`: all libraries that the
 * program starts with are mapped.
 */
void binding_mapped(struct tally *tally, struct tally_proc *proc, bool done);

#endif /* BINDING_H */
