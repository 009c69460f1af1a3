/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.h - read and add up the counts of LWPs that libpctx traces.
 *
 * An LWP has a duplicate of each set of the group; one of them is bound at a time.  The counters of
 * an LWP and of its process are the data of their libpctx objects (pctx_lwp_data(), pctx_data()),
 * and of their entries in the tree (`own`).
 */
#ifndef TALLY_H
#define TALLY_H

#include "engine.h"
#include "symbols.h"

#include <libcpc.h>
#include <libpctx.h>
#include <stdbool.h>

/* A set of the group as it is bound. */
struct tally_model {
	cpc_set_t *set; /* with requests that count calls beside their returns */
	int *calls;	/* by request: the request for its calls; -1: it counts no returns */
	bool *told;	/* by request: it was reported that returns are missing */
};

/* What an LWP has for each set. */
struct tally_set {
	cpc_set_t *set;	  /* a duplicate of the model's; NULL: the set never had its turn */
	unsigned nbound;  /* the number of its turns */
	bool settled;	  /* all libraries were mapped, and its symbols reported */
	cpc_buf_t *total; /* of earlier turns; NULL: there were none */
};

enum lwp_state {
	WAITING,   /* no set is bound yet */
	COUNTING,  /* the current set is bound */
	NEVER_RAN, /* killed before it could run: it counted nothing */
	REFUSED,   /* it could not be counted */
	LOST,	   /* its counters were lost */
	DONE,	   /* its counts are final */
};

struct tally_lwp {
	struct tally_proc *proc;
	struct lwp *lwp; /* in the tree */
	id_t id;
	pid_t tid;
	enum lwp_state state;
	size_t turn;		/* index of the set that counts */
	bool off;		/* its next set begins with its counters off */
	bool unreturned;	/* more of its calls did not return than may be nested */
	char comm[COMM_SIZE];	/* its name when it ended; "": unknown */
	struct tally_set set[]; /* by index in the group */
};

struct tally_proc {
	pctx_t *pctx;
	pid_t pid;
	struct proc *proc;	   /* in the tree; NULL: it has no LWP yet */
	const struct owner *owner; /* its cgroup when it was last read; NULL: unknown */
	const char *user;	   /* likewise, its user */
	bool first_ended;	   /* its LWP 1 has ended */
	struct image *image;	   /* its program; NULL: unknown, or no event names a symbol */
	bool linking;		   /* not all libraries that it starts with are mapped yet */
	bool watched;		   /* libpctx reports the libraries that it maps */
	bool *awaits;		   /* by set: it lacks symbols of libraries not loaded yet */
};

#define MAX_ERRNO 256

struct tally {
	struct engine *engine;
	cpc_t *cpc;
	const struct setgrp *grp;
	size_t turn;   /* index of the set whose turn it is... */
	size_t sample; /* ...since this sample of all LWPs */
	struct symbols *symbols;
	size_t nrefused;	     /* LWPs that could not be counted */
	size_t nlost;		     /* LWPs whose counters were lost; the first was reported */
	bool reported[MAX_ERRNO];    /* by errno: why an LWP could not be counted */
	size_t alive, peak;	     /* number of LWPs, now and at most */
	size_t files_each;	     /* files per LWP; 0: the limit was not reached */
	bool symbols_wanted;	     /* by some set */
	struct tally_model *model;   /* by index in the group */
	cpc_buf_t **now;	     /* scratch buffers, one per set */
	struct track_counts *counts; /* likewise: those of an event */
};

void tally_init(struct tally *tally, struct engine *engine);
void tally_free(struct tally *tally);

/* Becomes the data of `pctx`. */
struct tally_proc *tally_new_proc(struct tally *tally, pctx_t *pctx);
void tally_free_proc(struct tally_proc *proc);
/* Frees the counters of a process's LWPs: it runs another program, or no longer. */
void tally_clear(struct tally *tally, struct tally_proc *proc);

/* For init_lwp handlers.  Becomes the data of LWP `id`. */
struct tally_lwp *tally_new_lwp(struct tally *tally, struct tally_proc *proc, id_t id);
void tally_free_lwp(struct tally *tally, struct tally_lwp *lwp);

/* Can the LWP's counts be read? */
bool tally_is_counting(const struct tally_lwp *lwp);
/* Reads the counts of all turns of the current set into tally.counts[turn].  False: unknown. */
bool tally_sample(struct tally *tally, struct tally_lwp *lwp);
/* Ends tracking an LWP, and reads its last counts into tally.counts.  False: unknown. */
bool tally_finish(struct tally *tally, struct tally_lwp *lwp);
/* Is something missing from the counts of the LWP's process?  Bits of enum track_flaw. */
unsigned tally_flaws(const struct tally_lwp *lwp);

#endif /* TALLY_H */
