/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tree.c - the table of tracked processes and LWPs, with their counts.
 */
#include "tree.h"

#include "../../base/util.h"

#include <stdlib.h>
#include <string.h>

static int cmp_pids(const struct proc *a, const struct proc *b)
{
	return (a->pid > b->pid) - (a->pid < b->pid);
}

RB_GENERATE_INTERNAL(procs, proc, by_pid, cmp_pids, __attribute__((unused)) static)

void tree_init(struct tree *tree, const struct run *run)
{
	*tree = (struct tree){.run = run};
	TAILQ_INIT(&tree->procs);
	RB_INIT(&tree->by_pid);
	for (size_t i = 0; i < run->nsets; i++) {
		if (run->set[i].nevents > tree->nwords)
			tree->nwords = run->set[i].nevents;
	}
	tree->nwords += sizeof(struct lwp_counts) / sizeof(uint64_t);
}

struct proc *tree_find(struct tree *tree, pid_t pid)
{
	struct proc key = {.pid = pid};

	return RB_FIND(procs, &tree->by_pid, &key);
}

struct proc *tree_get(struct tree *tree, pid_t pid)
{
	struct proc *proc = tree_find(tree, pid);

	if (proc != NULL)
		return proc;
	proc = xcalloc(1, sizeof(*proc) + tree->run->nsets * sizeof(proc->total[0]));
	proc->pid = pid;
	proc->last_id = 1;
	TAILQ_INIT(&proc->lwps);
	TAILQ_INSERT_TAIL(&tree->procs, proc, link);
	RB_INSERT(procs, &tree->by_pid, proc);
	return proc;
}

void tree_clear(struct tree *tree, struct proc *proc)
{
	struct lwp *lwp;

	while ((lwp = TAILQ_FIRST(&proc->lwps)) != NULL)
		tree_remove_lwp(lwp);
	memset(proc->total, 0, tree->run->nsets * sizeof(proc->total[0]));
	proc->incomplete = false;
	proc->born_ns = 0;
	proc->nalive = 0;
	proc->last_id = 1;
}

void tree_remove(struct tree *tree, struct proc *proc)
{
	tree_clear(tree, proc);
	TAILQ_REMOVE(&tree->procs, proc, link);
	RB_REMOVE(procs, &tree->by_pid, proc);
	free(proc);
}

struct lwp *tree_add_lwp(struct tree *tree, struct proc *proc, id_t id, pid_t tid)
{
	const size_t nwords = tree->run->nsets * tree->nwords;
	struct lwp *lwp = xcalloc(1, sizeof(*lwp) + nwords * sizeof(uint64_t));
	const struct lwp *first = TAILQ_FIRST(&proc->lwps);

	if (id == 0 && tid == proc->pid && (first == NULL || first->id != 1))
		id = 1;
	else if (id == 0)
		id = proc->last_id + 1;
	if (id > proc->last_id)
		proc->last_id = id;
	lwp->id = id;
	lwp->tid = tid;
	lwp->proc = proc;
	if (id == 1)
		TAILQ_INSERT_HEAD(&proc->lwps, lwp, link);
	else
		TAILQ_INSERT_TAIL(&proc->lwps, lwp, link);
	proc->nalive++;
	return lwp;
}

void tree_remove_lwp(struct lwp *lwp)
{
	TAILQ_REMOVE(&lwp->proc->lwps, lwp, link);
	free(lwp);
}

struct lwp_counts *tree_counts(const struct tree *tree, struct lwp *lwp, size_t set)
{
	return (struct lwp_counts *)&lwp->words[set * tree->nwords];
}

struct proc *tree_first(struct tree *tree)
{
	return RB_MIN(procs, &tree->by_pid);
}
