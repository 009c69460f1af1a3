/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lifecycle.c - calls the handlers for births, execs and exits of LWPs and processes.
 *
 * Counters can be read after the exit of their LWP, so LWPs need not stop at their exit.
 */
#include "base.h"
#include "dispatch.h"
#include "procfs.h"

/* Calls the handlers for a new LWP, which has not run yet. */
static void report_birth(struct pctxi_lwp *lwp, bool thread)
{
	struct pctx *ctx = lwp->ctx;
	const struct pctxi_handlers *h = &ctx->handlers;
	int rc = 0;

	lwp->begun = true;
	ctx->recent = lwp;
	if (h->init_lwp != NULL)
		rc = h->init_lwp(ctx, ctx->pid, lwp->id, h->arg);
	if (rc == 0 && thread && h->lwp_create != NULL)
		rc = h->lwp_create(ctx, ctx->pid, lwp->id, h->arg);
	if (rc != 0)
		pctxi_detach(ctx);
}

/* Calls fini_lwp for an LWP that has stopped running. */
static void finish_lwp(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	const struct pctxi_handlers *h = &ctx->handlers;

	ctx->recent = lwp;
	if (lwp->begun && h->fini_lwp != NULL)
		h->fini_lwp(ctx, ctx->pid, lwp->id, h->arg);
}

static void finish_all(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp))
		finish_lwp(lwp);
}

void pctxi_follow(struct pctx *ctx)
{
	struct pctxi_lwp *lwp, *next;

	if (ctx->state != PCTXI_PROC_HELD) /* it has exited meanwhile */
		return;
	ctx->state = PCTXI_PROC_FOLLOWED;
	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = next) {
		next = pctxi_lwp_next(lwp);
		if (ctx->state == PCTXI_PROC_FOLLOWED)
			report_birth(lwp, false);
		if (lwp->state == PCTXI_LWP_STOPPED)
			pctxi_resume(lwp, 0);
	}
	pctxi_proc_detached_if_empty(ctx); /* the handle of pctx_open() has no process */
}

void pctxi_on_first_stop(struct pctxi_lwp *lwp)
{
	lwp->state = PCTXI_LWP_STOPPED;
	if (lwp->ctx->state == PCTXI_PROC_FOLLOWED)
		report_birth(lwp, lwp->id != 1);
	pctxi_resume(lwp, 0);
}

static void remember_ended(struct pctx *ctx)
{
	struct pctxi_loop *loop = ctx->loop;

	loop->last_handlers = ctx->handlers;
	loop->last_ended = (struct pctxi_creator){
		.pid = ctx->pid,
		.lwp = 1,
		.followed = ctx->state == PCTXI_PROC_FOLLOWED,
		.handlers = &loop->last_handlers,
	};
}

/* The process has exited. */
static void on_end(struct pctx *ctx, int status)
{
	const struct pctxi_handlers *h = &ctx->handlers;
	bool held = ctx->state == PCTXI_PROC_HELD; /* the caller owns the handle until the run */

	ctx->status = status;
	remember_ended(ctx);
	if (ctx->state == PCTXI_PROC_FOLLOWED) {
		finish_all(ctx);
		if (h->exit != NULL)
			h->exit(ctx, ctx->pid, 1, status, h->arg);
	}
	ctx->state = PCTXI_PROC_ENDED;
	while (!RB_EMPTY(&ctx->lwps))
		pctxi_lwp_free(ctx->loop, pctxi_lwp_first(ctx));
	if (pctxi_proc_is_own(ctx) && !held)
		pctxi_proc_free(ctx);
}

void pctxi_on_death(struct pctxi_lwp *lwp, int status)
{
	struct pctx *ctx = lwp->ctx;
	const struct pctxi_handlers *h = &ctx->handlers;
	int rc = 0;

	/* An LWP killed before its first stop has never run, but its creation was reported. */
	if (!lwp->begun && ctx->state == PCTXI_PROC_FOLLOWED)
		report_birth(lwp, lwp->id != 1);
	if (lwp->tid == ctx->pid) {
		on_end(ctx, status);
		return;
	}
	if (ctx->state == PCTXI_PROC_FOLLOWED) {
		finish_lwp(lwp);
		if (h->lwp_exit != NULL)
			rc = h->lwp_exit(ctx, ctx->pid, lwp->id, h->arg);
	}
	pctxi_lwp_free(ctx->loop, lwp);
	if (RB_EMPTY(&ctx->lwps)) /* its leader had exited before the attach */
		on_end(ctx, pctxi_exit_status(ctx->pid, status != 0 ? status : ctx->status));
	else if (rc != 0)
		pctxi_detach(ctx);
}

/* Calls fini_lwp for all LWPs and then exec, whose result it returns. */
static int report_exec(struct pctxi_lwp *lwp, pid_t former)
{
	struct pctx *ctx = lwp->ctx;
	const struct pctxi_handlers *h = &ctx->handlers;
	struct pctxi_lwp *caller = pctxi_lwp_find(ctx->loop, former);
	char cmd[4096];

	if (caller == NULL || caller->ctx != ctx)
		caller = lwp;
	finish_all(ctx);
	if (h->exec == NULL)
		return 1;
	ctx->recent = caller;
	cmd[0] = '\0';
	if (ctx->loop->own_proc)
		pctxi_cmdline(ctx->pid, cmd, sizeof(cmd));
	return h->exec(ctx, ctx->pid, caller->id, cmd, h->arg);
}

void pctxi_on_exec(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	unsigned long former = (unsigned long)lwp->tid;
	int rc = ctx->state != PCTXI_PROC_HELD;

	if (pctxi_lwp_next(pctxi_lwp_first(ctx)) != NULL) {
		ctx->exec_killed = true;
		ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &former);
	}
	if (ctx->state == PCTXI_PROC_FOLLOWED)
		rc = report_exec(lwp, (pid_t)former);
	pctxi_lwp_sole(lwp);
	ctx->r_debug = 0;
	ctx->watch_all = false;
	if (rc != 0)
		pctxi_detach(ctx);
	else if (ctx->state == PCTXI_PROC_FOLLOWED)
		report_birth(lwp, false);
	pctxi_resume(lwp, 0);
}

void pctxi_on_mapped(struct pctxi_lwp *lwp, bool done)
{
	struct pctx *ctx = lwp->ctx;
	const struct pctxi_handlers *h = &ctx->handlers;

	if (h->mapped != NULL && h->mapped(ctx, ctx->pid, lwp->id, done, h->arg) != 0)
		pctxi_detach(ctx);
}

void pctxi_on_lost(struct pctx *ctx, pid_t pid, pid_t tid, const char *reason)
{
	const struct pctxi_handlers *h = &ctx->handlers;

	if (pid == tid)
		pctxi_error(h->errfn, PCTXI_FN_RUN, "cannot follow process %d: %s", (int)pid,
			    reason);
	else
		pctxi_error(h->errfn, PCTXI_FN_RUN, "cannot follow LWP %d of process %d: %s",
			    (int)tid, (int)pid, reason);
	if (h->lost != NULL)
		h->lost(ctx, pid, tid, h->arg);
}
