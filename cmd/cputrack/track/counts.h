/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counts.h - what the LWPs of a tree have counted, from the slots that the kernel fills.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include "../../../liblwps/lwps.h"
#include "engine.h"
#include "fit.h"

#include <bsd/sys/tree.h>

struct counted_lwp {
	struct lwp base;
	struct counted_proc *proc;
	unsigned slot;
	bool final;	  /* this is what it counted in all */
	bool early;	  /* it ended before counting began */
	bool flawed;	  /* and not all of that */
	uint64_t state;	  /* of the slot at the last tick */
	uint64_t count[]; /* by column; after that, what of it was in ticks */
};

struct counted_proc {
	struct proc base;
	RB_ENTRY(counted_proc) by_pid;
	id_t last_id; /* 1 is the leader's */
	unsigned nalive;
	bool ends;	  /* none is alive, as far as was told when we attached */
	int status;	  /* as far as was told... */
	bool all_end;	  /* ...of all LWPs together... */
	bool led;	  /* ...or of the leader */
	bool counted;	  /* there is something in total */
	cpc_buf_t *total; /* of LWPs whose counts are final */
};

RB_HEAD(counted_procs, counted_proc);

struct tree {
	struct engine *engine; /* which has the list of processes, and is told what happens */
	struct fit fit;
	struct lwps *lwps;	/* NULL: not loaded yet */
	const cpc_set_t *bound; /* that of some CPU */
	/* What was asked for last; and for a tick, what was told before. */
	cpc_buf_t *buf, *before;
	cpc_buf_t *zero; /* what an LWP counts that sleeps */
	struct counted_procs procs;
	struct counted_lwp **of_slot;
	struct counted_lwp *others; /* those that share a slot, as one; NULL: there are none */
	int64_t read_ns;	    /* when the counts were read, or what is told happened */
	int64_t begun_ns;	    /* when counting began; 0: always, INT64_MAX: not yet */
	int64_t attached_ns;	    /* what happened before, happened while we attached */
	bool invalid;		    /* a CPU was claimed: nothing is known from then on */
	unsigned nflawed, flaws;    /* LWPs that were not counted all the time, and why */
	unsigned nimpossible;	    /* records that were left out */
};

static inline struct counted_lwp *counted(struct lwp *lwp)
{
	return (struct counted_lwp *)lwp;
}

/* A buffer for what LWPs count. */
cpc_buf_t *counts_new(const struct tree *tree);

/* It counts no more: what it has counted is part of its process's total. */
void counts_finalize(struct tree *tree, struct counted_lwp *lwp);
/* Its counts are unknown from now on. */
void counts_invalidate(struct tree *tree, struct counted_lwp *lwp);

/* As in struct engine_ops. */
cpc_buf_t *counts_sample(struct tree *tree);
cpc_buf_t *counts_sample_tick(struct tree *tree, struct lwp *lwp);
cpc_buf_t *counts_of_lwp(struct tree *tree, const struct lwp *lwp);
cpc_buf_t *counts_of_proc(struct tree *tree, const struct proc *proc);

#endif /* COUNTS_H */
