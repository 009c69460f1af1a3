/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counted.h - LWPs and processes that are counted with a set for each LWP.
 *
 * An LWP has a duplicate of each set of the group; one of them is bound at a time.
 * When the LWP goes, what it counted is added to its process.  Both are the data of their
 * libpctx objects (pctx_lwp_data(), pctx_data()).
 */
#ifndef COUNTED_H
#define COUNTED_H

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

#endif /* COUNTED_H */
