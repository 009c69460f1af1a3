/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * early.c - LWPs that stop before their creator's stop.
 *
 * A new LWP is under control from its creation, and its creator's stop reports its id.
 * Either stop may be reported first.  If the creator is killed in its stop, or before it, it
 * never reports the new LWP.  A new thread dies with it, but a new process would wait in its
 * first stop for ever.  So when the creator has exited, or must have stopped by now, the process
 * is assigned to its creator if /proc shows it, or else to the process that exited last.
 * There is no creator's stop either for CLONE_PTRACE together with CLONE_UNTRACED.
 */
#include "base.h"
#include "control.h"
#include "procfs.h"

#include <errno.h>

/* How long a creator may take to its stop, unless it is seen asleep. */
#define LATE_NS (1000 * PCTXI_MSEC)

/*
 * Finds a process under control, other than `except`, that can have created a child of
 * `parent`: the parent itself or, with CLONE_PARENT, one of its children.  `from`: NULL, or
 * the previous result.
 */
static struct pctx *find_creator(struct pctxi_loop *loop, pid_t parent, const struct pctx *except,
				 struct pctx *from)
{
	struct pctx *ctx = from == NULL ? pctxi_proc_find(loop, parent) : NULL;
	struct pctxi_task task;

	if (ctx != NULL && ctx != except)
		return ctx;
	ctx = from != NULL && from->pid != parent ? TAILQ_NEXT(from, link)
						  : TAILQ_FIRST(&loop->procs);
	for (; ctx != NULL; ctx = TAILQ_NEXT(ctx, link)) {
		if (ctx != except && ctx->pid != parent && !RB_EMPTY(&ctx->lwps) &&
		    pctxi_task_read(ctx->pid, &task) == 0 && task.ppid == parent)
			return ctx;
	}
	return NULL;
}

/* Can a process still report a birth?  A creator does not sleep between clone(2) and its stop. */
static bool may_report_birth(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;
	struct pctxi_task task;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp)) {
		if (lwp->state == PCTXI_LWP_RUNNING && pctxi_task_read(lwp->tid, &task) == 0 &&
		    !pctxi_task_sleeps(&task) && !pctxi_task_is_dead(&task))
			return true;
	}
	return false;
}

/*
 * Reads the ids of an LWP in its first stop.  Once is enough, though each exit of a process needs
 * them: the parent stays the same until it exits, which is reported.
 */
static bool read_ids(const struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	struct pctxi_task task;

	if (lwp->tgid == 0 && loop->own_proc && pctxi_task_read(lwp->tid, &task) == 0) {
		lwp->tgid = task.tgid;
		lwp->ppid = task.ppid;
	}
	return lwp->tgid != 0;
}

bool pctxi_early_created_by(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
			    const struct pctx *creator, bool ends)
{
	if (lwp->state != PCTXI_LWP_EARLY || !read_ids(loop, lwp) || lwp->tgid != lwp->tid)
		return false;
	return lwp->ppid == creator->pid ||
	       (ends && find_creator(loop, lwp->ppid, creator, NULL) == NULL);
}

/* Can the creator still report a process in its first stop?  `*ctx`: the possible creator. */
static bool may_be_reported(struct pctxi_loop *loop, const struct pctxi_lwp *lwp, struct pctx **ctx)
{
	struct pctx *creator = find_creator(loop, lwp->ppid, NULL, NULL);

	*ctx = creator;
	if (creator != NULL && creator->pid == lwp->ppid && creator->exec_killed)
		return false;
	for (; creator != NULL; creator = find_creator(loop, lwp->ppid, NULL, creator)) {
		if (may_report_birth(creator))
			return true;
	}
	return false;
}

enum pctxi_early_verdict pctxi_early_check(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
					   int64_t now_ns, struct pctx **ctx)
{
	bool late = now_ns - lwp->since_ns >= LATE_NS;

	*ctx = NULL;
	if (lwp->state == PCTXI_LWP_GONE)
		return late ? PCTXI_EARLY_FOREIGN : PCTXI_EARLY_WAITS;
	if (!read_ids(loop, lwp))
		return late ? PCTXI_EARLY_UNKNOWN : PCTXI_EARLY_WAITS;
	if (lwp->tgid != lwp->tid) {
		*ctx = pctxi_proc_find(loop, lwp->tgid);
		return *ctx != NULL ? PCTXI_EARLY_THREAD : PCTXI_EARLY_FOREIGN;
	}
	if (may_be_reported(loop, lwp, ctx) && !late) {
		/*
		 * Check again after twice the time.  If its creator exits or executes before,
		 * pctxi_early_created_by() is called.
		 */
		lwp->due_ns = now_ns + (now_ns - lwp->since_ns);
		return PCTXI_EARLY_WAITS;
	}
	return *ctx != NULL || loop->last_ended.pid != 0 ? PCTXI_EARLY_PROCESS
							 : PCTXI_EARLY_FOREIGN;
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

/*
 * Is the process our tracee because it called PTRACE_TRACEME?  Then no report of it is missing.
 * PTRACE_INTERRUPT fails with EIO for a tracee that was not seized.  It does not affect a seized
 * one in its first stop.
 */
static bool called_traceme(pid_t pid)
{
	return ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == -1 && errno == EIO;
}

bool pctxi_early_to_come(struct pctxi_loop *loop)
{
	DIR *dir = loop->own_proc ? opendir("/proc") : NULL;
	struct pctxi_task task;
	bool found = false;
	pid_t pid;

	while (!found && (pid = pctxi_next_task(dir)) != 0)
		found = pctxi_lwp_find(loop, pid) == NULL && pctxi_task_read(pid, &task) == 0 &&
			task.tracer == loop->owner && !pctxi_task_is_dead(&task) &&
			!called_traceme(pid);
	if (dir != NULL)
		closedir(dir);
	return found;
}
