/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.h - what the LWPs and processes of a tree counted, with a set for each LWP.
 *
 * An LWP has a duplicate of each set of the group; one of them is bound at a time.
 * When the LWP goes, what it counted is added to its process.  Both are the data of their
 * libpctx objects (pctx_lwp_data(), pctx_data()).
 */
#ifndef TALLY_H
#define TALLY_H

#include "engine.h"
#include "symbols.h"

#include <libcpc.h>
#include <libpctx.h>
#include <stdbool.h>

/* What an LWP has for each set. */
struct counted {
	cpc_set_t *set;	   /* NULL: the set never had its turn */
	bool valid;	   /* it had its turn, and was bound */
	bool settled;	   /* its symbols were told, with all libraries mapped */
	cpc_buf_t *before; /* the sample at the last tick of this turn; NULL: no tick yet */
	cpc_buf_t *total;  /* of earlier turns */
};

enum lwp_state {
	WAITING,   /* it is not to be counted yet */
	COUNTING,  /* the current set is bound */
	NEVER_RAN, /* killed before it could run: it counted nothing */
	REFUSED,   /* it could not be counted */
	LOST,	   /* its counters were lost */
	DONE,	   /* it ended; its counts are part of its process's */
};

struct tally_lwp {
	struct lwp base;
	enum lwp_state state;
	bool off;		  /* the set of its next turn is to be off, too */
	struct counted counted[]; /* one per set */
};

struct tally_proc {
	struct proc base;
	pctx_t *pctx;
	struct image *image; /* its program; NULL: it is not known yet */
	bool linking;	     /* its libraries are not all mapped yet */
	bool watched;	     /* what it maps is told, be it later */
	bool *awaits;	     /* by set: libraries that it may load later */
	cpc_buf_t *total[];  /* one per set, over LWPs that ended; NULL: none was counted */
};

#define NTOLD 256

struct tally {
	struct engine *engine; /* whose tree it is */
	cpc_t *cpc;
	const struct setgrp *grp;
	struct symbols *symbols;
	size_t nrefused;	 /* LWPs that could not be counted */
	size_t nlost;		 /* LWPs whose counters were lost; the first was reported */
	bool told[NTOLD];	 /* by errno: it was reported */
	size_t alive, peak;	 /* number of LWPs, now and at most */
	size_t files_each;	 /* files per LWP; 0: the limit was not reached */
	bool symbols_wanted;	 /* by some set */
	cpc_buf_t **now, **diff; /* scratch buffers, one of each per set */
};

/* The lists of an engine have the first member of these. */
static inline struct tally_lwp *tally_lwp(struct lwp *lwp)
{
	return (struct tally_lwp *)lwp;
}

static inline struct tally_proc *tally_proc(struct proc *proc)
{
	return (struct tally_proc *)proc;
}

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
/* The LWP could not be counted, for the reason in `error`, which is told... */
void tally_refuse(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp,
		  const char *event, int error);
/* ...or was. */
void tally_set_refused(struct tally_proc *proc, struct tally_lwp *lwp);
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
