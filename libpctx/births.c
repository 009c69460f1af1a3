/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * births.c - a new LWP gets its process.
 *
 * Its first stop and the stop of its maker, which names it, come in either order; if its
 * maker is killed, the second never does (see early.c).
 */
#include "base.h"
#include "dispatch.h"
#include "procfs.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct pctxi_maker maker_of(const struct pctxi_lwp *lwp)
{
	return (struct pctxi_maker){
		.ctx = lwp->ctx,
		.pid = lwp->ctx->pid,
		.lwp = lwp->id,
		.followed = lwp->ctx->state == PCTXI_PROC_FOLLOWED,
		.no_forks = lwp->no_forks,
		.handlers = &lwp->ctx->handlers,
	};
}

/* ---- what cannot be followed ---------------------------------------------------- */

/*
 * An LWP was let go that should have been followed; `ctx` is the process that it belongs
 * to or that made it, NULL: nobody knows.
 */
static void lose(struct pctxi_loop *loop, struct pctx *ctx, pid_t pid, pid_t tid,
		 const char *reason)
{
	loop->check_births = loop->own_proc; /* its maker's stop may still be to come */
	if (ctx == NULL)
		ctx = loop->root;
	else if (ctx->state != PCTXI_PROC_FOLLOWED)
		return; /* it would have been let go anyway */
	if (pid != tid || ctx->handlers.fork != NULL)
		pctxi_on_lost(ctx, pid, tid, reason);
}

static void lose_unnamed(struct pctxi_loop *loop, pid_t tid, const char *reason)
{
	struct pctxi_task task = {.tgid = tid};
	struct pctx *ctx = NULL;

	if (loop->own_proc && pctxi_task_read(tid, &task) == 0)
		ctx = pctxi_proc_find(loop, task.tgid != tid ? task.tgid : task.ppid);
	else
		task.tgid = tid;
	lose(loop, ctx, task.tgid, tid, reason);
}

/* ---- claims --------------------------------------------------------------------- */

/* Tells the caller of a new process, which it may take into the loop. */
static void offer(struct pctx *child, const struct pctxi_maker *maker)
{
	const struct pctxi_handlers *h = maker->handlers;

	if (maker->followed && h->fork != NULL) {
		child->parent = maker->ctx;
		h->fork(child, maker->pid, maker->lwp, child->pid, h->arg);
		child->parent = NULL;
	} else if (maker->followed && h->child != NULL && maker->ctx != NULL) {
		h->child(maker->ctx, maker->pid, maker->lwp, child->pid, h->arg);
	}
	if (child->state == PCTXI_PROC_HELD)
		child->state = PCTXI_PROC_LEAVING;
}

/* There is no memory for a new process. */
static void not_claimed(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
			const struct pctxi_maker *maker)
{
	pid_t tid = lwp->tid;
	bool early = lwp->state == PCTXI_LWP_EARLY;

	/* If its first stop is still to come, there is another chance then. */
	pctxi_drop(loop, lwp);
	if (early)
		lose(loop, maker->ctx, tid, tid, strerror(ENOMEM));
}

/*
 * `lwp` gets its process: that of its maker, or one of its own.  What it reported before
 * is acted on now.
 */
static void claim(struct pctxi_loop *loop, struct pctxi_lwp *lwp, const struct pctxi_maker *maker,
		  bool thread)
{
	enum pctxi_lwp_state state = lwp->state;
	struct pctx *ctx = maker->ctx;

	if (!thread)
		ctx = pctxi_proc_new(loop, lwp->tid, PCTXI_FORKED, maker->handlers);
	if (ctx == NULL) {
		not_claimed(loop, lwp, maker);
		return;
	}
	pctxi_lwp_join(lwp, ctx);
	lwp->no_forks = thread && maker->no_forks;
	if (ctx->state == PCTXI_PROC_LEFT) /* its last LWP left just now */
		pctxi_proc_unleave(ctx);
	if (!thread)
		offer(ctx, maker);
	if (state == PCTXI_LWP_EARLY)
		pctxi_on_first_stop(lwp);
	else if (state == PCTXI_LWP_GONE)
		pctxi_on_death(lwp, lwp->status);
}

void pctxi_claim_unnamed(const struct pctxi_lwp *maker, bool ends)
{
	struct pctxi_loop *loop = maker->ctx->loop;
	const struct pctxi_maker by = maker_of(maker);
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (pctxi_early_made_by(loop, lwp, maker->ctx, ends)) {
			loop->check_births = true;
			claim(loop, lwp, &by, false);
		}
	}
}

/* An LWP has waited for its maker's stop until it was due. */
static void judge(struct pctxi_loop *loop, struct pctxi_lwp *lwp, int64_t now_ns)
{
	enum pctxi_early_verdict verdict;
	struct pctxi_maker maker;
	pid_t tid = lwp->tid;
	struct pctx *ctx;

	verdict = pctxi_early_judge(loop, lwp, now_ns, &ctx);
	switch (verdict) {
	case PCTXI_EARLY_WAITS:
		break;
	case PCTXI_EARLY_THREAD:
	case PCTXI_EARLY_PROCESS:
		maker = ctx != NULL ? maker_of(pctxi_lwp_first(ctx)) : loop->last_ended;
		loop->check_births = true;
		claim(loop, lwp, &maker, verdict == PCTXI_EARLY_THREAD);
		break;
	case PCTXI_EARLY_FOREIGN:
		pctxi_drop(loop, lwp);
		break;
	case PCTXI_EARLY_UNKNOWN: /* it is not to wait for ever */
		pctxi_drop(loop, lwp);
		lose_unnamed(loop, tid, "without /proc it is unknown who made it");
		break;
	}
}

void pctxi_claim_late(struct pctxi_loop *loop, int64_t now_ns)
{
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (now_ns > lwp->due_ns)
			judge(loop, lwp, now_ns);
	}
}

/* ---- births --------------------------------------------------------------------- */

static bool exists(pid_t tgid, pid_t tid)
{
	return syscall(SYS_tgkill, tgid, tid, 0) == 0 || errno == EPERM;
}

/* Is it under control?  A zombie that was reported is not: it is its parent's. */
static bool is_ours(const struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_task task;

	return pctxi_task_read(tid, &task) == 0 && task.tracer == loop->owner;
}

/* `maker` made LWP `tid`: a thread, by the kind of its birth, or a process. */
static void born(struct pctxi_loop *loop, const struct pctxi_maker *maker, pid_t tid, bool thread)
{
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, tid);
	/*
	 * Cheaper than /proc, and clone(2) allows every mixture of flags.  What it most
	 * likely is comes first.
	 */
	bool is_process = !thread && exists(tid, tid);
	bool is_thread = !is_process && exists(maker->pid, tid);
	bool alive = is_process || is_thread || (thread && exists(tid, tid));

	if (lwp != NULL && lwp->ctx != NULL)
		return; /* claimed before its maker's stop came */
	if (lwp != NULL && lwp->state == PCTXI_LWP_GONE && alive && is_ours(loop, tid)) {
		pctxi_lwp_free(loop, lwp); /* another one, which had the same id */
		lwp = NULL;
	}
	if (lwp == NULL) {
		if (!alive || (loop->check_births && !is_ours(loop, tid)))
			return; /* claimed before, and it has died; or it was let go */
		lwp = pctxi_lwp_new(loop, tid, PCTXI_LWP_BORN);
	}
	/* Out of memory, there is another chance at its first stop, which is to come. */
	if (lwp != NULL)
		claim(loop, lwp, maker, alive ? is_thread : thread);
}

/*
 * The parent of a child that is not followed waits until it is let go, since it may want to trace
 * it.  False: it is let go already.
 */
static bool hold(const struct pctxi_lwp *parent, pid_t tid)
{
	struct pctxi_lwp *child = pctxi_lwp_find(parent->ctx->loop, tid);

	if (child == NULL || child->state != PCTXI_LWP_BORN)
		return false;
	child->holds = parent->tid;
	return true;
}

void pctxi_on_birth(struct pctxi_lwp *lwp, bool thread)
{
	struct pctxi_loop *loop = lwp->ctx->loop;
	const struct pctxi_maker maker = maker_of(lwp);
	unsigned long tid;
	/* Fails if it was killed in this stop: see early.c. */
	bool named = ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &tid) == 0;
	bool followed = thread || maker.handlers->fork != NULL;

	if (followed)
		pctxi_resume(lwp, 0);
	if (named)
		born(loop, &maker, (pid_t)tid, thread);
	if (!followed && (!named || !hold(lwp, (pid_t)tid)))
		pctxi_resume(lwp, 0);
}

void pctxi_on_early_stop(struct pctxi_loop *loop, pid_t tid, bool group_stop)
{
	struct pctxi_lwp *lwp = pctxi_lwp_new(loop, tid, PCTXI_LWP_EARLY);

	if (lwp == NULL) {
		lose_unnamed(loop, tid, strerror(ENOMEM)); /* while /proc has it as it is */
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	lwp->group_stop = group_stop;
	lwp->since_ns = pctxi_now_ns();
	lwp->due_ns = lwp->since_ns + PCTXI_EARLY_NS;
}
