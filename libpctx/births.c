/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * births.c - assigns a new LWP to its process.
 *
 * The LWP's first stop and its creator's stop, which reports its id, come in either order.
 * If the creator is killed, its stop never comes (see early.c).
 */
#include "base.h"
#include "dispatch.h"
#include "procfs.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct pctxi_creator creator_of(const struct pctxi_lwp *lwp)
{
	return (struct pctxi_creator){
		.ctx = lwp->ctx,
		.pid = lwp->ctx->pid,
		.lwp = lwp->id,
		.followed = lwp->ctx->state == PCTXI_PROC_FOLLOWED,
		.no_forks = lwp->no_forks,
		.handlers = &lwp->ctx->handlers,
	};
}

/* ---- LWPs that cannot be followed ----------------------------------------------- */

/* Reports that an LWP is detached.  `ctx`: its process, or that of its creator; NULL: unknown. */
static void report_lost(struct pctxi_loop *loop, struct pctx *ctx, pid_t pid, pid_t tid,
			const char *reason)
{
	loop->check_births = loop->own_proc; /* the creator's stop may follow */
	if (ctx == NULL)
		ctx = loop->root;
	else if (ctx->state != PCTXI_PROC_FOLLOWED)
		return; /* it would have been detached anyway */
	if (pid != tid || ctx->handlers.fork != NULL)
		pctxi_on_lost(ctx, pid, tid, reason);
}

static void report_lost_unassigned(struct pctxi_loop *loop, pid_t tid, const char *reason)
{
	struct pctxi_task task = {.tgid = tid};
	struct pctx *ctx = NULL;

	if (loop->own_proc && pctxi_task_read(tid, &task) == 0)
		ctx = pctxi_proc_find(loop, task.tgid != tid ? task.tgid : task.ppid);
	else
		task.tgid = tid;
	report_lost(loop, ctx, task.tgid, tid, reason);
}

/* ---- assigning ------------------------------------------------------------------- */

/* Offers a new process to the caller, which may add it to the loop. */
static void offer_child(struct pctx *child, const struct pctxi_creator *creator)
{
	const struct pctxi_handlers *h = creator->handlers;

	if (creator->followed && h->fork != NULL) {
		child->parent = creator->ctx;
		h->fork(child, creator->pid, creator->lwp, child->pid, h->arg);
		child->parent = NULL;
	} else if (creator->followed && h->child != NULL && creator->ctx != NULL) {
		h->child(creator->ctx, creator->pid, creator->lwp, child->pid, h->arg);
	}
	if (child->state == PCTXI_PROC_HELD)
		child->state = PCTXI_PROC_DETACHING;
}

/* Memory for a new process ran out. */
static void not_assigned(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
			 const struct pctxi_creator *creator)
{
	pid_t tid = lwp->tid;
	bool early = lwp->state == PCTXI_LWP_EARLY;

	/* If the first stop of the LWP is still to come, it is assigned then. */
	pctxi_drop(loop, lwp);
	if (early)
		report_lost(loop, creator->ctx, tid, tid, strerror(ENOMEM));
}

/* Assigns an LWP to its creator's process or to a new one.  Then handles its earlier report. */
static void assign(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
		   const struct pctxi_creator *creator, bool thread)
{
	enum pctxi_lwp_state state = lwp->state;
	struct pctx *ctx = creator->ctx;

	if (!thread)
		ctx = pctxi_proc_new(loop, lwp->tid, PCTXI_FORKED, creator->handlers);
	if (ctx == NULL) {
		not_assigned(loop, lwp, creator);
		return;
	}
	pctxi_lwp_join(lwp, ctx);
	lwp->no_forks = thread && creator->no_forks;
	if (ctx->state == PCTXI_PROC_DETACHED) /* its last LWP was just detached */
		pctxi_proc_detach_again(ctx);
	if (!thread)
		offer_child(ctx, creator);
	if (state == PCTXI_LWP_EARLY)
		pctxi_on_first_stop(lwp);
	else if (state == PCTXI_LWP_GONE)
		pctxi_on_death(lwp, lwp->status);
}

void pctxi_assign_unreported(const struct pctxi_lwp *creator, bool ends)
{
	struct pctxi_loop *loop = creator->ctx->loop;
	const struct pctxi_creator by = creator_of(creator);
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (pctxi_early_created_by(loop, lwp, creator->ctx, ends)) {
			loop->check_births = true;
			assign(loop, lwp, &by, false);
		}
	}
}

/* Decides on an LWP that has waited for its creator's stop long enough. */
static void check_early(struct pctxi_loop *loop, struct pctxi_lwp *lwp, int64_t now_ns)
{
	enum pctxi_early_verdict verdict;
	struct pctxi_creator creator;
	pid_t tid = lwp->tid;
	struct pctx *ctx;

	verdict = pctxi_early_check(loop, lwp, now_ns, &ctx);
	switch (verdict) {
	case PCTXI_EARLY_WAITS:
		break;
	case PCTXI_EARLY_THREAD:
	case PCTXI_EARLY_PROCESS:
		creator = ctx != NULL ? creator_of(pctxi_lwp_first(ctx)) : loop->last_ended;
		loop->check_births = true;
		assign(loop, lwp, &creator, verdict == PCTXI_EARLY_THREAD);
		break;
	case PCTXI_EARLY_FOREIGN:
		pctxi_drop(loop, lwp);
		break;
	case PCTXI_EARLY_UNKNOWN: /* do not let it wait for ever */
		pctxi_drop(loop, lwp);
		report_lost_unassigned(loop, tid, "without /proc its creator is unknown");
		break;
	}
}

void pctxi_assign_late(struct pctxi_loop *loop, int64_t now_ns)
{
	struct pctxi_lwp *lwp, *next;

	for (lwp = LIST_FIRST(&loop->early); lwp != NULL; lwp = next) {
		next = LIST_NEXT(lwp, early);
		if (now_ns > lwp->due_ns)
			check_early(loop, lwp, now_ns);
	}
}

/* ---- births --------------------------------------------------------------------- */

static bool exists(pid_t tgid, pid_t tid)
{
	return syscall(SYS_tgkill, tgid, tid, 0) == 0 || errno == EPERM;
}

/* Is it under control?  A zombie is not, once it was reported: it belongs to its parent. */
static bool is_ours(const struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_task task;

	return pctxi_task_read(tid, &task) == 0 && task.tracer == loop->owner;
}

/* Assigns LWP `tid`, which the stop of `creator` has reported, most likely as a `thread` or not. */
static void assign_reported(struct pctxi_loop *loop, const struct pctxi_creator *creator, pid_t tid,
			    bool thread)
{
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, tid);
	/*
	 * clone(2) allows all combinations of flags, so the stop does not tell threads from
	 * processes for certain.  Signal 0 does, and is cheaper than /proc.  Test the likely kind
	 * first.
	 */
	bool is_process = !thread && exists(tid, tid);
	bool is_thread = !is_process && exists(creator->pid, tid);
	bool alive = is_process || is_thread || (thread && exists(tid, tid));

	if (lwp != NULL && lwp->ctx != NULL)
		return; /* assigned before its creator's stop */
	if (lwp != NULL && lwp->state == PCTXI_LWP_GONE && alive && is_ours(loop, tid)) {
		pctxi_lwp_free(loop, lwp); /* another LWP that had the same id */
		lwp = NULL;
	}
	if (lwp == NULL) {
		if (!alive || (loop->check_births && !is_ours(loop, tid)))
			return; /* it was assigned and has exited, or it was detached */
		lwp = pctxi_lwp_new(loop, tid, PCTXI_LWP_BORN);
	}
	/* If memory ran out, the LWP is assigned at its first stop, which is still to come. */
	if (lwp != NULL)
		assign(loop, lwp, creator, alive ? is_thread : thread);
}

/*
 * Makes the parent of a child that is not followed wait until the child is detached, because
 * the parent may want to trace it.  False: the child is detached already.
 */
static bool hold_parent(const struct pctxi_lwp *parent, pid_t tid)
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
	const struct pctxi_creator creator = creator_of(lwp);
	unsigned long tid;
	/* Fails if the LWP was killed in this stop: see early.c. */
	bool reported = ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &tid) == 0;
	bool followed = thread || creator.handlers->fork != NULL;

	if (followed)
		pctxi_resume(lwp, 0);
	if (reported)
		assign_reported(loop, &creator, (pid_t)tid, thread);
	if (!followed && (!reported || !hold_parent(lwp, (pid_t)tid)))
		pctxi_resume(lwp, 0);
}

void pctxi_on_early_stop(struct pctxi_loop *loop, pid_t tid, bool group_stop)
{
	struct pctxi_lwp *lwp = pctxi_lwp_new(loop, tid, PCTXI_LWP_EARLY);

	if (lwp == NULL) {
		report_lost_unassigned(loop, tid,
				       strerror(ENOMEM)); /* report it while /proc has it */
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	lwp->group_stop = group_stop;
	lwp->since_ns = pctxi_now_ns();
	lwp->due_ns = lwp->since_ns + PCTXI_EARLY_NS;
}
