/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * orphan.c - LWPs that their makers cannot name any more.
 *
 * An LWP comes under control when it is born, and its maker's stop says that it made it;
 * either may be reported first.  A maker that is killed in that stop, or on its way into
 * it, never names what it made: a thread dies with it, but a process waits in its first
 * stop, where it would stay for ever.  When its maker is gone, or must be by now, it is
 * taken in as made by whoever ended last.
 */
#include "pctx_impl.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <limits.h>
#include <sys/ptrace.h>

#define MSEC 1000000LL
/* How long a maker that lives may take to its stop. */
#define LATE (1000 * MSEC)

/* A process that we control, by its id; its leader may be gone. */
static struct pctx *find_proc(struct pctxi_loop *loop, pid_t pid)
{
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, pid);
	struct pctx *ctx;

	if (lwp != NULL && lwp->ctx != NULL && lwp->ctx->pid == pid)
		return lwp->ctx;
	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx->pid == pid && !RB_EMPTY(&ctx->lwps))
			return ctx;
	}
	return NULL;
}

/*
 * Can a process of ours, but not `except`, have made a child of `parent`?  The parent
 * itself can, and its other children, with CLONE_PARENT.
 */
static bool may_be_named(struct pctxi_loop *loop, pid_t parent, const struct pctx *except)
{
	struct pctx *ctx = find_proc(loop, parent);
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
 * Reads once what an LWP in its first stop is: a process that ended is not to cost a look
 * at each.  Its parent stays what it is until that ends, which is told us.
 */
static bool know(const struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	struct pctxi_task task;

	if (lwp->tgid == 0 && loop->own_proc && pctxi_task_read(lwp->tid, &task) == 0) {
		lwp->tgid = task.tgid;
		lwp->ppid = task.ppid;
	}
	return lwp->tgid != 0;
}

/* Before the end or exec of a process is told: what did it make that nobody named? */
void pctxi_orphans(const struct pctxi_lwp *maker, bool ends)
{
	struct pctxi_loop *loop = maker->ctx->loop;
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (lwp->state == LWP_EARLY && know(loop, lwp) && lwp->tgid == lwp->tid &&
		    (lwp->ppid == maker->ctx->pid ||
		     (ends && !may_be_named(loop, lwp->ppid, maker->ctx)))) {
			loop->took_in = true;
			pctxi_claim(lwp, maker, false);
		}
	}
}

/* Does it still have to wait for its maker's word?  Otherwise it is taken in. */
static void take_in(struct pctxi_loop *loop, struct pctxi_lwp *lwp, int64_t age)
{
	struct pctxi_lwp ghost = {.id = 1, .ctx = &loop->last}, *maker;
	struct pctx *ctx;
	bool thread;

	if (lwp->state == LWP_GONE || !know(loop, lwp)) {
		if (age < LATE)
			return;
		/* Without /proc we never know, and it is not to wait for ever. */
		if (lwp->state == LWP_EARLY)
			ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
		pctxi_lwp_free(loop, lwp);
		return;
	}
	thread = lwp->tgid != lwp->tid;
	ctx = find_proc(loop, thread ? lwp->tgid : lwp->ppid);
	if (!thread && age < LATE && !(ctx != NULL && ctx->cut) &&
	    may_be_named(loop, lwp->ppid, NULL)) {
		/* Should the maker end or execute before, we are asked: see above. */
		lwp->due_ns = lwp->since_ns + LATE;
		return;
	}
	if (ctx == NULL && (thread || loop->last.pid == 0)) { /* nobody of ours can be its maker */
		ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
		pctxi_lwp_free(loop, lwp);
		return;
	}
	maker = ctx != NULL ? pctxi_lwp_first(ctx) : &ghost;
	loop->took_in = true;
	pctxi_claim(lwp, maker, thread);
}

void pctxi_orphans_late(struct pctxi_loop *loop, int64_t now_ns)
{
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (now_ns > lwp->due_ns)
			take_in(loop, lwp, now_ns - lwp->since_ns);
	}
}

bool pctxi_orphans_to_come(struct pctxi_loop *loop)
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
			task.state != 'Z' && task.state != 'X';
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}
