/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.h - what the LWPs and processes of a tree counted.
 */
#ifndef TALLY_H
#define TALLY_H

#include "counted.h"

void tally_init(struct tally *tally, struct engine *engine);
void tally_free(struct tally *tally);

/* Becomes the data of `pctx`. */
struct tally_proc *tally_new_proc(struct tally *tally, pctx_t *pctx);
void tally_clear_proc(struct tally *tally, struct tally_proc *proc); /* at an exec */
void tally_free_proc(struct tally *tally, struct tally_proc *proc);

/* For init_lwp handlers.  Becomes the data of LWP `id`. */
struct tally_lwp *tally_new_lwp(struct tally *tally, struct tally_proc *proc, id_t id);
void tally_free_lwp(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);

/*
 * Binds the set whose turn it is.  If that fails, it is reported with the name of the
 * `event` at which it happened, and the LWP runs on uncounted.
 */
void tally_bind(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp,
		const char *event);
/* The wait is over: binds the sets of all LWPs. */
void tally_begin(struct tally *tally);
/* What the current set has counted since it was bound; NULL: not known. */
cpc_buf_t *tally_sample(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);
/* What it has counted since the last tally_tick(); NULL: not known. */
cpc_buf_t *tally_tick(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);
/* Binds the next set in turn; to be called right after tally_tick(). */
void tally_rotate(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);
/* The LWP ended: takes its last counts, and adds its totals to its process's. */
void tally_finish(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp);
/* The total of a set after tally_finish(); NULL: it was never counted. */
cpc_buf_t *tally_lwp_total(const struct tally_lwp *lwp, size_t set);

#endif /* TALLY_H */
