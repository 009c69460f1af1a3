/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loop.c - wait for what happens next or for the next tick, until all is over.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define NSEC 1000000000LL
#define MSEC 1000000LL

/* Only what this thread made or controls: other threads' children are theirs. */
#define WAIT_FLAGS (__WALL | __WNOTHREAD)

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static void tick_all(struct pctxi_loop *loop)
{
	struct pctxi_lwp *lwp;
	struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link) {
		int rc = 0;

		if (ctx->state != PCTX_FOLLOWED || ctx->tick == NULL)
			continue;
		for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp)) {
			if (lwp->begun)
				rc |= ctx->tick(ctx, ctx->pid, lwp->id, ctx->arg);
		}
		if (rc != 0)
			pctxi_leave(ctx);
	}
}

/* Ticks when it is time to; false: that was the last sample. */
static bool tick_if_due(struct pctxi_loop *loop)
{
	int64_t late;

	if (loop->interval_ns == 0)
		return true;
	late = now_ns() - loop->next_tick_ns;
	if (late < 0)
		return true;
	tick_all(loop);
	/* The next on the schedule that is not over yet. */
	loop->next_tick_ns += (late / loop->interval_ns + 1) * loop->interval_ns;
	return loop->samples_left == 0 || --loop->samples_left > 0;
}

/* Sleeps until something may have happened, a tick is due, or the idle handler is. */
static void nap(struct pctxi_loop *loop, const sigset_t *chld)
{
	struct pctx *root = loop->root;
	int64_t left = loop->interval_ns != 0 ? loop->next_tick_ns - now_ns() : INT64_MAX;
	int64_t again = root->idle != NULL ? (int64_t)root->idle(root, root->arg) * MSEC : 0;
	struct timespec ts;

	if (again != 0 && again < left)
		left = again;
	if (left <= 0 || loop->terminate)
		return;
	ts.tv_sec = left / NSEC;
	ts.tv_nsec = left % NSEC;
	sigtimedwait(chld, NULL, left != INT64_MAX ? &ts : NULL);
}

/* Does anything still happen to a process that we follow or are about to leave? */
static bool anyone_left(const struct pctxi_loop *loop)
{
	const struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx->state != PCTX_LEFT)
			return true;
	}
	return false;
}

static void forget_left(struct pctxi_loop *loop)
{
	struct pctx *ctx, *next;

	if (!loop->litter)
		return;
	loop->litter = false;
	for (ctx = TAILQ_FIRST(&loop->procs); ctx != NULL; ctx = next) {
		next = TAILQ_NEXT(ctx, link);
		if (ctx->state == PCTX_LEFT && ctx->adopted)
			pctxi_proc_free(ctx);
	}
}

/* 0 when it is over for any reason, -1 when control was lost. */
static int run(struct pctxi_loop *loop, const sigset_t *chld)
{
	int status;
	pid_t tid;

	while (!loop->terminate) {
		tid = waitpid(-1, &status, WAIT_FLAGS | WNOHANG);
		if (tid > 0)
			pctxi_dispatch(loop, tid, status);
		/* Here, so that a storm of events does not keep ticks from coming. */
		if (!tick_if_due(loop))
			return 0;
		if (tid > 0)
			continue;
		forget_left(loop);
		if (!anyone_left(loop))
			return 0;
		if (tid == -1 && errno != EINTR)
			return -1;
		nap(loop, chld);
	}
	return 0;
}

int pctxi_loop_run(struct pctxi_loop *loop)
{
	sigset_t chld, old;
	int rc;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &chld, &old);
	loop->running = true;
	loop->next_tick_ns = now_ns() + loop->interval_ns;
	rc = run(loop, &chld);
	loop->running = false;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == -1) {
		pctxi_error(loop->root->errfn, PCTXI_FN_RUN, "lost control of process %d",
			    (int)loop->root->pid);
		errno = ECHILD;
	}
	return rc;
}

void pctxi_leave_finish(struct pctxi_loop *loop)
{
	struct pctxi_lwp *lwp;
	int status;
	pid_t tid;

	while (anyone_left(loop)) {
		tid = waitpid(-1, &status, WAIT_FLAGS);
		if (tid > 0)
			pctxi_dispatch(loop, tid, status);
		else if (errno != EINTR)
			break;
		forget_left(loop);
	}
	/* Whoever never got named leaves, too. */
	while ((lwp = LIST_FIRST(&loop->early)) != NULL) {
		if (lwp->state == LWP_EARLY)
			ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
		pctxi_lwp_free(loop, lwp);
	}
}
