/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tree.c - processes and LWPs, as the records of the kernel tell of them.
 */
#include "tree.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <bsd/string.h>
#include <cpc_counter.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int cmp_pids(const struct counted_proc *a, const struct counted_proc *b)
{
	return (a->base.pid > b->base.pid) - (a->base.pid < b->base.pid);
}

RB_GENERATE_INTERNAL(counted_procs, counted_proc, by_pid, cmp_pids, __attribute__((unused)) static)

/* ---- LWPs and processes --------------------------------------------------------------- */

static struct counted_proc *find_proc(struct tree *tree, pid_t pid)
{
	struct counted_proc key = {.base.pid = pid};

	return RB_FIND(counted_procs, &tree->procs, &key);
}

static struct counted_proc *new_proc(struct tree *tree, pid_t pid)
{
	struct counted_proc *proc = xcalloc(1, sizeof(*proc));

	proc->base.pid = pid;
	proc->base.incomplete = tree->invalid;
	proc->last_id = 1;
	proc->total = counts_new(tree);
	TAILQ_INIT(&proc->base.lwps);
	TAILQ_INSERT_TAIL(&tree->engine->procs, &proc->base, link);
	RB_INSERT(counted_procs, &tree->procs, proc);
	return proc;
}

static struct counted_lwp *new_lwp(struct tree *tree, struct counted_proc *proc, unsigned slot,
				   pid_t tid, const char *comm)
{
	const size_t columns = tree->fit.ncolumns * sizeof(uint64_t);
	struct counted_lwp *lwp = xcalloc(1, sizeof(*lwp) + 2 * columns);
	struct lwp *first = TAILQ_FIRST(&proc->base.lwps);
	bool leads = tid == proc->base.pid && (first == NULL || first->id != 1);

	lwp->base.id = leads ? 1 : ++proc->last_id;
	lwp->base.tid = tid;
	strlcpy(lwp->base.comm, comm, sizeof(lwp->base.comm));
	lwp->proc = proc;
	lwp->slot = slot;
	if (leads && first != NULL)
		TAILQ_INSERT_BEFORE(first, &lwp->base, link);
	else
		TAILQ_INSERT_TAIL(&proc->base.lwps, &lwp->base, link);
	proc->nalive++;
	proc->ends = false;
	tree->of_slot[slot] = lwp;
	return lwp;
}

/* Its end may not have been told yet, if it was attached to as it ended. */
static void free_lwp(struct tree *tree, struct counted_lwp *lwp)
{
	if (tree->of_slot[lwp->slot] == lwp)
		tree->of_slot[lwp->slot] = NULL;
	TAILQ_REMOVE(&lwp->proc->base.lwps, &lwp->base, link);
	free(lwp);
}

/* What comes next in the process is another program. */
static void clear_proc(struct tree *tree, struct counted_proc *proc)
{
	struct lwp *lwp;

	while ((lwp = TAILQ_FIRST(&proc->base.lwps)) != NULL)
		free_lwp(tree, counted(lwp));
	cpc_buf_zero(tree->engine->cpc, proc->total);
	proc->counted = false;
	proc->base.incomplete = tree->invalid;
	proc->last_id = 1;
	proc->nalive = 0;
	proc->all_end = proc->led = false;
}

static void free_proc(struct tree *tree, struct counted_proc *proc)
{
	clear_proc(tree, proc);
	TAILQ_REMOVE(&tree->engine->procs, &proc->base, link);
	RB_REMOVE(counted_procs, &tree->procs, proc);
	cpc_buf_destroy(tree->engine->cpc, proc->total);
	free(proc);
}

static bool attaching(const struct tree *tree, const struct lwps_record *record)
{
	return record->time_ns <= tree->attached_ns;
}

/* If its maker has no slot, or was attached to later, it is the first of its process. */
static struct counted_proc *proc_of(struct tree *tree, const struct lwps_record *record)
{
	struct counted_proc *proc = find_proc(tree, record->tgid);

	if (proc != NULL)
		return proc;
	proc = new_proc(tree, record->tgid);
	proc->base.incomplete |= record->event == LWPS_THREAD && !attaching(tree, record);
	return proc;
}

static void release_slot(struct tree *tree, struct counted_lwp *lwp)
{
	counts_finalize(tree, lwp);
	tree->of_slot[lwp->slot] = NULL;
	lwps_release(tree->lwps, lwp->slot);
	lwp->proc->nalive--;
}

/* ---- what happens -------------------------------------------------------------------- */

static void look_at_comm(struct tree *tree, struct counted_lwp *lwp)
{
	if (tree->engine->config.comm)
		comm_read(lwp->base.tid, lwp->base.comm);
}

static void begin(struct tree *tree, struct counted_proc *proc, unsigned slot, pid_t tid,
		  const char *comm, bool thread)
{
	const struct engine *engine = tree->engine;
	struct counted_lwp *lwp = new_lwp(tree, proc, slot, tid, comm);

	if (*comm == '\0')
		look_at_comm(tree, lwp);
	engine->watcher->init_lwp(engine->arg, &proc->base, &lwp->base);
	if (thread)
		engine->watcher->lwp_create(engine->arg, &proc->base, &lwp->base);
}

static struct counted_lwp *lwp_of(struct tree *tree, unsigned slot)
{
	return slot < TREE_SLOTS ? tree->of_slot[slot] : NULL;
}

static void on_fork(struct tree *tree, const struct lwps_record *record)
{
	const struct engine *engine = tree->engine;
	struct counted_lwp *maker = lwp_of(tree, record->creator);
	struct counted_proc *proc = find_proc(tree, record->tgid);

	engine->watcher->fork(engine->arg, record->creator_tgid, maker != NULL ? maker->base.id : 1,
			      maker != NULL ? &maker->base : NULL, record->tgid);
	if (proc == NULL)
		proc = new_proc(tree, record->tgid);
	else
		proc->base.incomplete = true; /* the end of another one was not told */
	begin(tree, proc, record->slot, record->tid, maker != NULL ? maker->base.comm : "", false);
}

/* The words of a command, with spaces between; as ps(1), its name where they could not be had. */
static void join(char *text, size_t size, const struct lwps_record *record)
{
	size_t n = record->args_size < size ? record->args_size : size - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = record->args[i] != '\0' ? record->args[i] : ' ';
	text[n > 0 && record->args[n - 1] == '\0' ? n - 1 : n] = '\0';
	if (n == 0)
		snprintf(text, size, "[%.*s]", LWPS_COMM, record->comm);
}

static void on_exec(struct tree *tree, const struct lwps_record *record)
{
	const struct engine *engine = tree->engine;
	struct counted_lwp *lwp = lwp_of(tree, record->slot);
	struct counted_proc *proc = lwp != NULL ? lwp->proc : find_proc(tree, record->tgid);
	char command[LWPS_ARGS];
	struct lwp *ended;

	if (proc == NULL) /* the program that was started, or one that had no slot */
		proc = new_proc(tree, record->tgid);
	if (record->slot != LWPS_NONE) {
		join(command, sizeof(command), record);
		if (lwp != NULL) {
			strlcpy(lwp->base.comm, record->old_comm, sizeof(lwp->base.comm));
			release_slot(tree, lwp);
		} else {
			proc->base.incomplete = true;
		}
		/* The leader, too, if it was another LWP. */
		TAILQ_FOREACH(ended, &proc->base.lwps, link) {
			counts_finalize(tree, counted(ended));
			engine->watcher->fini_lwp(engine->arg, &proc->base, ended);
		}
		engine->watcher->exec(engine->arg, &proc->base, lwp != NULL ? lwp->base.id : 1,
				      lwp != NULL ? &lwp->base : NULL);
		clear_proc(tree, proc);
		engine->watcher->image(engine->arg, record->tgid, record->comm, command);
	}
	if (record->next == LWPS_NONE || record->next == LWPS_SHARED)
		free_proc(tree, proc);
	else
		begin(tree, proc, record->next, record->tgid, record->comm, false);
}

static void on_end(struct tree *tree, struct counted_proc *proc, int status)
{
	const struct engine *engine = tree->engine;
	struct lwp *leader = TAILQ_FIRST(&proc->base.lwps); /* NULL: it was dead when we came */

	if (leader != NULL)
		engine->watcher->fini_lwp(engine->arg, &proc->base, leader);
	engine->watcher->exit(engine->arg, &proc->base, 1, leader, status);
	free_proc(tree, proc);
}

/* The LWPs that are known have ended, and all that were there when we attached are known now. */
static void end_attached(struct tree *tree)
{
	struct proc *proc, *next;

	tree->attached_ns = 0;
	TAILQ_FOREACH_SAFE(proc, &tree->engine->procs, link, next)
	{
		struct counted_proc *ending = (struct counted_proc *)proc;

		if (ending->ends)
			on_end(tree, ending, ending->status);
	}
}

/* The last that is told need not be the last that ended. */
static void keep_status(struct counted_proc *proc, bool leader, const struct lwps_record *record)
{
	if (record->all_end || (!proc->all_end && (leader || !proc->led)))
		proc->status = record->status;
	proc->all_end |= record->all_end;
	proc->led |= leader;
}

static void on_exit_lwp(struct tree *tree, const struct lwps_record *record)
{
	const struct engine *engine = tree->engine;
	struct counted_lwp *lwp = lwp_of(tree, record->slot);
	struct counted_proc *proc;

	if (lwp == NULL) { /* one of those that share a slot, or an exec has ended it */
		lwps_release(tree->lwps, record->slot);
		return;
	}
	proc = lwp->proc;
	strlcpy(lwp->base.comm, record->comm, sizeof(lwp->base.comm));
	release_slot(tree, lwp);
	keep_status(proc, lwp->base.tid == proc->base.pid, record);
	if (lwp->base.id != 1) {
		engine->watcher->fini_lwp(engine->arg, &proc->base, &lwp->base);
		engine->watcher->lwp_exit(engine->arg, &proc->base, &lwp->base);
		free_lwp(tree, lwp);
	}
	if (proc->nalive > 0)
		return;
	proc->ends = attaching(tree, record);
	if (!proc->ends)
		on_end(tree, proc, proc->status);
}

/* Can this come after what was told before?  All do, unless records were lost. */
static bool is_possible(struct tree *tree, const struct lwps_record *record)
{
	const bool exec = record->event == LWPS_EXEC;
	unsigned begun = exec ? record->next : record->slot;

	if (record->event == LWPS_EXIT)
		return true;
	if (exec && record->slot == LWPS_NONE &&
	    (begun == LWPS_NONE || find_proc(tree, record->tgid) != NULL))
		return false;
	if (exec && (begun == LWPS_NONE || begun == LWPS_SHARED))
		return true;
	return begun != LWPS_SHARED && begun < TREE_SLOTS && tree->of_slot[begun] == NULL;
}

static void tell(struct tree *tree, const struct lwps_record *record)
{
	if (!is_possible(tree, record)) {
		tree->nimpossible++;
		return;
	}
	tree->engine->event_ns = tree->read_ns = record->time_ns;
	switch (record->event) {
	case LWPS_ATTACH:
	case LWPS_THREAD:
		begin(tree, proc_of(tree, record), record->slot, record->tid, "",
		      record->event == LWPS_THREAD);
		break;
	case LWPS_FORK:
		on_fork(tree, record);
		break;
	case LWPS_EXEC:
		on_exec(tree, record);
		break;
	case LWPS_EXIT:
		on_exit_lwp(tree, record);
		break;
	}
	tree->engine->event_ns = 0;
}

/* LWPs without a slot of their own are shown as one of us, so that no count is missing. */
static void tell_others(struct tree *tree)
{
	struct counted_proc *proc;

	if (tree->others != NULL || lwps_losses(tree->lwps).shared == 0)
		return;
	proc = new_proc(tree, getpid());
	proc->base.incomplete = true;
	begin(tree, proc, LWPS_SHARED, getpid(), "(others)", false);
	tree->others = tree->of_slot[LWPS_SHARED];
	tree->of_slot[LWPS_SHARED] = NULL; /* it makes nobody, and does not end */
}

/* A cpustat(1) has claimed CPUs: what is counted from now on is not true. */
static void invalidate(struct tree *tree)
{
	struct proc *proc;
	struct lwp *lwp;

	tree->invalid = tree->engine->lost = true;
	TAILQ_FOREACH(proc, &tree->engine->procs, link) {
		proc->incomplete = true;
		TAILQ_FOREACH(lwp, &proc->lwps, link)
			counts_invalidate(tree, counted(lwp));
	}
	say("perf counter contents invalidated");
}

void tree_tell(struct tree *tree)
{
	struct lwps_record record;

	if (!tree->invalid && !cpc_set_holds(tree->engine->cpc, tree->bound, now_ns()))
		invalidate(tree);
	while (lwps_next(tree->lwps, &record))
		tell(tree, &record);
	if (tree->attached_ns != 0)
		end_attached(tree);
	tell_others(tree);
}

/* Since the last tick, everybody else has used the caches.  NULL: it is none. */
static void prefetch(struct lwp *lwp)
{
	if (lwp == NULL)
		return;
	__builtin_prefetch(lwp);
	__builtin_prefetch(counted(lwp)->count);
}

void tree_tick(struct tree *tree)
{
	const struct engine *engine = tree->engine;
	struct proc *proc;
	struct lwp *lwp;

	tree->read_ns = now_ns();
	TAILQ_FOREACH(proc, &engine->procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			prefetch(TAILQ_NEXT(lwp, link));
			if (counted(lwp)->final)
				continue; /* a leader that has ended, and others live on */
			if (engine->config.comm && counted(lwp) != tree->others)
				comm_read(lwp->tid, lwp->comm);
			engine->watcher->tick(engine->arg, proc, lwp);
		}
	}
}

/* An LWP that has ended by its records does not count; nor does one whose id another one has. */
bool tree_any_exists(struct tree *tree)
{
	struct proc *proc;
	struct lwp *lwp;

	TAILQ_FOREACH(proc, &tree->engine->procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			if (!counted(lwp)->final && counted(lwp) != tree->others &&
			    (syscall(SYS_tgkill, proc->pid, lwp->tid, 0) == 0 || errno != ESRCH))
				return true;
		}
	}
	return false;
}

/* ---- begin and end ------------------------------------------------------------------------ */

void tree_init(struct tree *tree, struct engine *engine, const struct fit *fit)
{
	*tree = (struct tree){.engine = engine, .fit = *fit};
	TAILQ_INIT(&engine->procs);
	RB_INIT(&tree->procs);
	tree->of_slot = xcalloc(TREE_SLOTS, sizeof(*tree->of_slot));
	tree->buf = counts_new(tree);
	tree->before = counts_new(tree);
	tree->zero = counts_new(tree);
	tree->begun_ns = engine->config.waiting ? INT64_MAX : 0;
}

void tree_leave(struct tree *tree, struct proc *proc)
{
	free_proc(tree, (struct counted_proc *)proc);
}

void tree_free(struct tree *tree)
{
	struct proc *proc;

	while ((proc = TAILQ_FIRST(&tree->engine->procs)) != NULL)
		tree_leave(tree, proc);
	if (tree->lwps != NULL)
		lwps_close(tree->lwps);
	cpc_buf_destroy(tree->engine->cpc, tree->buf);
	cpc_buf_destroy(tree->engine->cpc, tree->before);
	cpc_buf_destroy(tree->engine->cpc, tree->zero);
	free(tree->of_slot);
}
