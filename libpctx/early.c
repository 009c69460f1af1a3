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
 * Nor is there such a stop when it was made with CLONE_PTRACE and CLONE_UNTRACED.
 */
#include "base.h"
#include "control.h"
#include "procfs.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>

/* How long a maker that is not seen asleep may take to its stop. */
#define LATE_NS (1000 * PCTXI_MSEC)

/*
 * Finds a process of ours, but not `except`, that can have made a child of `parent`: the
 * parent itself or, with CLONE_PARENT, another child of it.  `from`: NULL, or the one that
 * was found before.
 */
static struct pctx *find_maker(struct pctxi_loop *loop, pid_t parent, const struct pctx *except,
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

/*
 * Can a process still name what it made?  An LWP does not sleep between a birth and the
 * stop that names it.
 */
static bool is_naming(struct pctx *ctx)
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
	return lwp->ppid == maker->pid ||
	       (ends && find_maker(loop, lwp->ppid, maker, NULL) == NULL);
}

/* Can its maker still name the first stop of a process?  `*ctx` is who it may be. */
static bool may_be_named(struct pctxi_loop *loop, const struct pctxi_lwp *lwp, struct pctx **ctx)
{
	struct pctx *maker = find_maker(loop, lwp->ppid, NULL, NULL);

	*ctx = maker;
	if (maker != NULL && maker->pid == lwp->ppid && maker->exec_killed)
		return false;
	for (; maker != NULL; maker = find_maker(loop, lwp->ppid, NULL, maker)) {
		if (is_naming(maker))
			return true;
	}
	return false;
}

enum pctxi_early_verdict pctxi_early_judge(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
					   int64_t now_ns, struct pctx **ctx)
{
	bool late = now_ns - lwp->since_ns >= LATE_NS;

	*ctx = NULL;
	if (lwp->state == PCTXI_LWP_GONE)
		return late ? PCTXI_EARLY_FOREIGN : PCTXI_EARLY_WAITS;
	if (!know_ids(loop, lwp))
		return late ? PCTXI_EARLY_UNKNOWN : PCTXI_EARLY_WAITS;
	if (lwp->tgid != lwp->tid) {
		*ctx = pctxi_proc_find(loop, lwp->tgid);
		return *ctx != NULL ? PCTXI_EARLY_THREAD : PCTXI_EARLY_FOREIGN;
	}
	if (may_be_named(loop, lwp, ctx) && !late) {
		/*
		 * Looked at again after twice the time.  If its maker ends or executes before,
		 * pctxi_early_made_by() is asked.
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
 * A process that made itself our tracee by PTRACE_TRACEME is nobody who has yet to report.
 * It was not seized, which is what this request fails for; in its first stop, one that
 * was stays there.
 */
static bool is_volunteer(pid_t pid)
{
	return ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == -1 && errno == EIO;
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
			!pctxi_task_is_dead(&task) && !is_volunteer(pid);
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}
