/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * early.c - LWPs that report before their maker named them.
 *
 * A new LWP is under control from its birth, and its maker's stop names it; either may be
 * reported first.  A maker that is killed in that stop, or on the way there, never names
 * what it made: a thread dies with it, but a process waits in its first stop and would stay
 * there for ever.  So when its maker is gone, or must have stopped by now, it is claimed
 * for the process that made it as far as /proc tells, or else the one that ended last.
 */
#include "base.h"
#include "control.h"
#include "procfs.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <limits.h>

/* How long a maker may take to its stop. */
#define LATE_NS (1000 * PCTXI_MSEC)

/*
 * Can a process of ours, but not `except`, have made a child of `parent`?  The parent
 * itself can, and its other children, with CLONE_PARENT.
 */
static bool may_be_named(struct pctxi_loop *loop, pid_t parent, const struct pctx *except)
{
	struct pctx *ctx = pctxi_proc_find(loop, parent);
	struct pctxi_task task;

	if (ctx != NULL && ctx != except)
		return true;
	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx != except && !RB_EMPTY(&ctx->lwps) &&
		    pctxi_task_read(ctx->pid, &task) == 0 && task.ppid == parent)
			return true;
	}
	return false;
}

/*
 * Reads the ids of an LWP in its first stop, once: each end of a process asks for them.
 * The parent stays the same until it ends, which is reported.
 */
static bool know_ids(const struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	struct pctxi_task task;

	if (lwp->tgid == 0 && loop->own_proc && pctxi_task_read(lwp->tid, &task) == 0) {
		lwp->tgid = task.tgid;
		lwp->ppid = task.ppid;
	}
	return lwp->tgid != 0;
}

bool pctxi_early_made_by(struct pctxi_loop *loop, struct pctxi_lwp *lwp, const struct pctx *maker,
			 bool ends)
{
	if (lwp->state != PCTXI_LWP_EARLY || !know_ids(loop, lwp) || lwp->tgid != lwp->tid)
		return false;
	return lwp->ppid == maker->pid || (ends && !may_be_named(loop, lwp->ppid, maker));
}

enum pctxi_early_verdict pctxi_early_judge(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
					   int64_t now_ns, struct pctx **ctx)
{
	bool late = now_ns - lwp->since_ns >= LATE_NS, thread;

	*ctx = NULL;
	if (lwp->state == PCTXI_LWP_GONE)
		return late ? PCTXI_EARLY_FOREIGN : PCTXI_EARLY_WAITS;
	if (!know_ids(loop, lwp))
		return late ? PCTXI_EARLY_UNKNOWN : PCTXI_EARLY_WAITS;
	thread = lwp->tgid != lwp->tid;
	*ctx = pctxi_proc_find(loop, thread ? lwp->tgid : lwp->ppid);
	if (!thread && !late && !(*ctx != NULL && (*ctx)->exec_killed) &&
	    may_be_named(loop, lwp->ppid, NULL)) {
		/* If its maker ends or executes before, pctxi_early_made_by() is asked. */
		lwp->due_ns = lwp->since_ns + LATE_NS;
		return PCTXI_EARLY_WAITS;
	}
	if (*ctx == NULL && (thread || loop->last_ended.pid == 0))
		return PCTXI_EARLY_FOREIGN;
	return thread ? PCTXI_EARLY_THREAD : PCTXI_EARLY_PROCESS;
}

bool pctxi_early_any(const struct pctxi_loop *loop)
{
	const struct pctxi_lwp *lwp;

	LIST_FOREACH(lwp, &loop->early, early) {
		if (lwp->state == PCTXI_LWP_EARLY)
			return true;
	}
	return false;
}

bool pctxi_early_to_come(struct pctxi_loop *loop)
{
	DIR *dir = loop->own_proc ? opendir("/proc") : NULL;
	struct pctxi_task task;
	struct dirent *de;
	bool found = false;
	const char *bad;
	pid_t pid;

	while (dir != NULL && !found && (de = readdir(dir)) != NULL) {
		pid = (pid_t)strtonum(de->d_name, 1, INT_MAX, &bad);
		found = bad == NULL && pctxi_lwp_find(loop, pid) == NULL &&
			pctxi_task_read(pid, &task) == 0 && task.tracer == loop->owner &&
			!pctxi_task_is_dead(&task);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}
