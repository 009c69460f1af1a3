/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tree.h - the table of tracked processes and LWPs, with their counts.
 *
 * Events change it (track.c).  Engines only read the lists, and keep their own data in `own`.
 */
#ifndef TREE_H
#define TREE_H

#include "../../rows/sum.h"
#include "../pids.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The last counts of an LWP that an event reported for a set. */
struct lwp_counts {
	bool known;
	uint64_t cycles;
	uint64_t val[]; /* one for each event of the set */
};

struct lwp {
	id_t id;	      /* from 1, the leader's, in its process */
	pid_t tid;	      /* the kernel's thread id */
	struct proc *proc;    /* whose LWP it is */
	void *own;	      /* the engine's */
	char comm[COMM_SIZE]; /* its name when it was last read; "": unknown */
	bool final;	      /* its last counts were reported */
	bool flawed;	      /* some of its events were not counted */
	uint64_t sample;      /* number of the last sample that it was in */
	int64_t born_ns;      /* when it was born, or counting began... */
	int64_t since_ns;     /* ...and when the last sample was taken, if later */
	TAILQ_ENTRY(lwp) link;
	uint64_t words[]; /* its struct lwp_counts: see tree_counts() */
};

struct proc {
	pid_t pid;
	void *own;			/* the engine's */
	bool incomplete;		/* some LWP was not counted, or not to its end */
	unsigned nalive;		/* LWPs whose counts are not final */
	const struct owner *owner;	/* its cgroup, as far as it is known... */
	const char *user;		/* ...and its user */
	id_t last_id;			/* the largest number of an LWP */
	int64_t born_ns;		/* when its program began */
	TAILQ_HEAD(lwp_list, lwp) lwps; /* in the order of their numbers */
	TAILQ_ENTRY(proc) link;
	RB_ENTRY(proc) by_pid;
	struct sum total[]; /* by set: of LWPs whose counts are final */
};

RB_HEAD(procs, proc);

struct tree {
	const struct run *run;	  /* which has the sets */
	size_t nwords;		  /* of the counts for one set in lwp.words */
	TAILQ_HEAD(, proc) procs; /* in the order of their births */
	struct procs by_pid;
};

void tree_init(struct tree *tree, const struct run *run);

struct proc *tree_find(struct tree *tree, pid_t pid); /* NULL: not tracked */
struct proc *tree_get(struct tree *tree, pid_t pid);  /* finds or adds it; never NULL */
/* Frees the LWPs of a process that runs another program from now on, and its totals. */
void tree_clear(struct tree *tree, struct proc *proc);
void tree_remove(struct tree *tree, struct proc *proc);

/* `id` 0: the next number, or 1 of the leader. */
struct lwp *tree_add_lwp(struct tree *tree, struct proc *proc, id_t id, pid_t tid);
void tree_remove_lwp(struct lwp *lwp);

/* The last reported counts of an LWP for a set. */
struct lwp_counts *tree_counts(const struct tree *tree, struct lwp *lwp, size_t set);

/* The process with the smallest id; NULL: the tree is empty. */
struct proc *tree_first(struct tree *tree);

#endif /* TREE_H */
