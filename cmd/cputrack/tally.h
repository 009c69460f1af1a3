/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.h - what the LWPs and processes of a tree counted.
 *
 * An LWP has a duplicate of each set of the group; one of them is bound at a time.
 * When the LWP goes, what it counted is added to its process.
 */
#ifndef TALLY_H
#define TALLY_H

#include "../common/setgrp.h"
#include "symbols.h"

#include <bsd/sys/tree.h>
#include <libcpc.h>
#include <stdbool.h>

/* How an LWP stands with one of the sets. */
struct counted {
	cpc_set_t *set;	   /* NULL: it never had its turn */
	bool valid;	   /* it did, and was not refused */
	cpc_buf_t *before; /* the sample at the last tick of this turn */
	cpc_buf_t *total;  /* of earlier turns */
};

enum lwp_state {
	COUNTING,  /* the current set is bound */
	NEVER_RAN, /* killed before it could run: it counted nothing */
	REFUSED,   /* it could not be counted */
	LOST,	   /* it could, but no longer */
	DONE,	   /* its counts are in its process's */
};

struct lwp {
	id_t id;
	pid_t tid; /* the kernel's number */
	enum lwp_state state;
	size_t turn; /* which set counts */
	bool off;    /* the set of its next turn is to be off, too */
	RB_ENTRY(lwp) link;
	struct counted counted[]; /* one per set */
};
RB_HEAD(lwps, lwp);

struct proc {
	pid_t pid;
	bool incomplete; /* some LWP was refused */
	bool linking;	 /* its libraries are awaited */
	struct lwps lwps;
	RB_ENTRY(proc) link;
	cpc_buf_t *total[]; /* one per set, over LWPs that are gone; NULL: none counted */
};
RB_HEAD(procs, proc);

#define NTOLD 256

struct tally {
	cpc_t *cpc;
	const struct setgrp *grp;
	struct symbols *symbols;
	struct procs procs;
	struct proc *last;	 /* the one looked up last */
	bool start_off;		 /* new LWPs start with their counters off */
	bool lost;		 /* LWPs were not counted, or not to their end */
	bool ever_on;		 /* the counters of some LWP were */
	size_t nrefused;	 /* LWPs that could not be counted */
	bool told[NTOLD];	 /* by errno: that reason was given */
	size_t alive, peak;	 /* LWPs that there are, and that there were at most */
	size_t files_each;	 /* that an LWP takes; 0: there were enough for all */
	cpc_buf_t **now, **diff; /* for each set, a sample and a difference in the making */
};

void tally_init(struct tally *tally, cpc_t *cpc, const struct setgrp *grp, bool debug);
void tally_free(struct tally *tally);

struct proc *tally_proc(struct tally *tally, pid_t pid);      /* made when it is new */
struct proc *tally_find_proc(struct tally *tally, pid_t pid); /* NULL: there is none */
struct proc *tally_first_proc(struct tally *tally);
void tally_clear_proc(struct tally *tally, struct proc *proc); /* it starts anew, at an exec */
void tally_free_proc(struct tally *tally, struct proc *proc);

struct lwp *tally_new_lwp(struct tally *tally, struct proc *proc, id_t id, pid_t tid);
struct lwp *tally_lwp(struct proc *proc, id_t id); /* NULL: there is none */
struct lwp *tally_first_lwp(struct proc *proc);
struct lwp *tally_next_lwp(struct lwp *lwp);
void tally_free_lwp(struct tally *tally, struct proc *proc, struct lwp *lwp);

/*
 * Binds the set whose turn it is.  When that is refused, it says so with the name
 * of the `event` it happened at, and the LWP goes on uncounted.
 */
void tally_bind(struct tally *tally, pctx_t *pctx, struct proc *proc, struct lwp *lwp,
		const char *event);
/* The libraries of a process have come, or some of them: they may have its symbols. */
void tally_mapped(struct tally *tally, pctx_t *pctx, struct proc *proc, bool done);
/* What the current set has counted since it was bound; NULL: that is not known. */
cpc_buf_t *tally_sample(struct tally *tally, struct proc *proc, struct lwp *lwp);
/* The same since the last time; NULL: that is not known. */
cpc_buf_t *tally_tick(struct tally *tally, struct proc *proc, struct lwp *lwp);
/* The next set takes its turn; right after tally_tick. */
void tally_rotate(struct tally *tally, pctx_t *pctx, struct proc *proc, struct lwp *lwp);
/* The LWP counts no more: its totals are complete, and part of its process's. */
void tally_finish(struct tally *tally, struct proc *proc, struct lwp *lwp);
/* The total of a set, once finished; NULL: it was never counted. */
cpc_buf_t *tally_lwp_total(const struct lwp *lwp, size_t set);

#endif /* TALLY_H */
