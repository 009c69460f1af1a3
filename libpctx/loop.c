/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* loop.c - waits for the next report or tick, until all processes have exited. */
#include "base.h"
#include "chld.h"
#include "dispatch.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define EARLY_NAP_NS (5 * PCTXI_MSEC) /* while an LWP waits for its creator's stop */
#define STREAK 64		      /* this many consecutive reports are a storm */

static void tick_process(struct pctx *ctx)
{
	pid_t untraced = ctx->untraced_reported ? 0 : pctxi_find_untraced(ctx);
	const struct pctxi_handlers *h = &ctx->handlers;
	struct pctxi_lwp *lwp;
	int rc = 0;

	if (untraced != 0) {
		ctx->untraced_reported = true;
		pctxi_on_lost(ctx, ctx->pid, untraced, "it was created with CLONE_UNTRACED");
	}
	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp)) {
		if (!lwp->begun)
			continue;
		ctx->recent = lwp;
		rc |= h->tick(ctx, ctx->pid, lwp->id, h->arg);
	}
	if (rc != 0)
		pctxi_detach(ctx);
}

static void tick_all(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx->state == PCTXI_PROC_FOLLOWED && ctx->handlers.tick != NULL)
			tick_process(ctx);
	}
}

/* Calls the tick handlers if a tick is due; false: that was the last sample. */
static bool tick_if_due(struct pctxi_loop *loop)
{
	int64_t late;

	if (loop->interval_ns == 0)
		return true;
	late = pctxi_now_ns() - loop->next_tick_ns;
	if (late < 0)
		return true;
	tick_all(loop);
	/* Skip scheduled ticks that are already in the past. */
	loop->next_tick_ns += (late / loop->interval_ns + 1) * loop->interval_ns;
	return loop->samples_left == 0 || --loop->samples_left > 0;
}

/*
 * Sleeps until a report may have come, or a tick or the idle handler is due.  -1 and errno: that is
 * impossible.
 */
static int nap(struct pctxi_loop *loop)
{
	const struct pctxi_handlers *h = &loop->root->handlers;
	int64_t left = loop->interval_ns != 0 ? loop->next_tick_ns - pctxi_now_ns() : INT64_MAX;
	int64_t again = h->idle != NULL ? h->idle(loop->root, h->arg) * PCTXI_MSEC : 0;
	struct timespec ts;

	if (again != 0 && again < left)
		left = again;
	if (!LIST_EMPTY(&loop->early) && left > EARLY_NAP_NS)
		left = EARLY_NAP_NS;
	if (left <= 0)
		return 0;
	ts.tv_sec = left / PCTXI_NSEC;
	ts.tv_nsec = left % PCTXI_NSEC;
	return pctxi_chld_wait(loop, left != INT64_MAX ? &ts : NULL);
}

/* A process that is followed, or has not been detached yet; or NULL. */
static const struct pctx *find_controlled(const struct pctxi_loop *loop)
{
	const struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (!pctxi_proc_is_detached(ctx))
			return ctx;
	}
	return NULL;
}

/* Is there an LWP under control that is not assigned to a process yet? */
static bool any_unassigned(struct pctxi_loop *loop)
{
	if (pctxi_early_any(loop))
		return true;
	/* Reading all of /proc is expensive, and in most cases there is no such LWP. */
	return pctxi_sees_forks(loop->root) && pctxi_report_pending() && pctxi_early_to_come(loop);
}

static void free_detached(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	while ((ctx = LIST_FIRST(&loop->detached)) != NULL)
		pctxi_proc_free(ctx);
}

/* Handles the next report: 1; 0: none now (WNOHANG); -1: no task can report any more. */
static int handle_next(struct pctxi_loop *loop, int flags)
{
	struct pctxi_report report;
	int got = pctxi_report_next(loop, &report, flags);

	if (got == 1)
		pctxi_dispatch(loop, &report);
	return got;
}

static void handle_kept(struct pctxi_loop *loop)
{
	for (size_t i = 0; i < loop->nreports; i++)
		pctxi_dispatch(loop, &loop->report[i]);
	loop->nreports = 0;
}

/* Returns 0 at the end of the run, or -1 if control was lost. */
static int run_loop(struct pctxi_loop *loop)
{
	int got, streak = 0;

	handle_kept(loop);
	while (!loop->terminate) {
		got = handle_next(loop, WNOHANG);
		streak = got > 0 ? streak + 1 : 0;
		if (streak == STREAK) {
			/*
			 * waitid(2) returns the youngest LWP first, so old LWPs would starve
			 * in a storm of births.  Take all pending reports, and handle them
			 * before new ones.
			 */
			streak = 0;
			pctxi_reports_keep(loop);
			handle_kept(loop);
		}
		/* During a storm of reports, only after each STREAK. */
		if (streak == 0 && !LIST_EMPTY(&loop->early))
			pctxi_assign_late(loop, pctxi_now_ns());
		if (!tick_if_due(loop))
			return 0;
		if (got > 0)
			continue;
		free_detached(loop);
		if (find_controlled(loop) == NULL && !any_unassigned(loop))
			return 0;
		if (got == -1 || nap(loop) == -1)
			return -1;
	}
	return 0;
}

int pctxi_loop_run(struct pctxi_loop *loop)
{
	sigset_t old;
	int rc, err;

	pctxi_chld_mask(SIG_BLOCK, &old);
	loop->running = true;
	loop->next_tick_ns = pctxi_now_ns() + loop->interval_ns;
	rc = run_loop(loop);
	err = errno;
	loop->lost = rc == -1;
	loop->running = false;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc == -1) {
		const struct pctx *lost = find_controlled(loop);

		pctxi_error(loop->root->handlers.errfn, PCTXI_FN_RUN,
			    "lost control of process %d%s%s",
			    (int)(lost != NULL ? lost : loop->root)->pid, err != ECHILD ? ": " : "",
			    err != ECHILD ? strerror(err) : "");
		errno = ECHILD;
	}
	return rc;
}

/* What waitpid(2) has said about the root, which is an ordinary child by now. */
static void note_root(struct pctx *root, int status)
{
	bool paused;

	if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
		paused = WIFSTOPPED(status) && !pctxi_detach_stranger(root->pid, status);
		root->state = paused ? PCTXI_PROC_PAUSED : PCTXI_PROC_DETACHED;
	} else {
		root->state = PCTXI_PROC_ENDED;
		root->status = status;
	}
}

/*
 * The idle handler is called as before.  After control was lost, some LWPs may still be traced:
 * they are detached when they stop.
 */
int pctxi_loop_wait(struct pctxi_loop *loop)
{
	struct pctx *root = loop->root;
	int status, flags = WUNTRACED | WCONTINUED | WNOHANG | (loop->lost ? __WALL : 0);
	sigset_t old;
	pid_t pid;

	pctxi_chld_mask(SIG_BLOCK, &old);
	loop->interval_ns = 0;
	while (root->state != PCTXI_PROC_ENDED) {
		pid = waitpid(loop->lost ? -1 : root->pid, &status, flags);
		if (pid == -1 && errno != EINTR)
			break;
		if (pid == root->pid)
			note_root(root, status);
		else if (pid > 0 && WIFSTOPPED(status))
			pctxi_detach_stranger(pid, status);
		else if (pid <= 0 && nap(loop) == -1)
			flags &= ~WNOHANG; /* sleep there instead */
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return root->state == PCTXI_PROC_ENDED ? 0 : -1;
}

/* Handles the kept reports of one process, and leaves those of other processes for the run. */
static void handle_kept_of(const struct pctx *ctx)
{
	struct pctxi_loop *loop = ctx->loop;
	size_t n = 0;

	for (size_t i = 0; i < loop->nreports; i++) {
		const struct pctxi_report report = loop->report[i];
		const struct pctxi_lwp *lwp = pctxi_lwp_find(loop, report.tid);

		if (lwp != NULL && lwp->ctx == ctx)
			pctxi_dispatch(loop, &report);
		else
			loop->report[n++] = report;
	}
	loop->nreports = n;
}

void pctxi_detach_wait(struct pctx *ctx)
{
	while (!pctxi_proc_is_detached(ctx)) {
		handle_kept_of(ctx);
		if (!pctxi_proc_is_detached(ctx) && !pctxi_reports_wait(ctx->loop))
			return;
	}
}

static void drop_early(struct pctxi_loop *loop)
{
	struct pctxi_lwp *lwp;

	while ((lwp = LIST_FIRST(&loop->early)) != NULL)
		pctxi_drop(loop, lwp);
}

void pctxi_detach_all(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link)
		pctxi_detach(ctx);
	handle_kept(loop);
	do {
		while (find_controlled(loop) != NULL && handle_next(loop, 0) == 1)
			free_detached(loop);
		drop_early(loop);
	} while (any_unassigned(loop) && handle_next(loop, 0) == 1);
}

void pctxi_detach_now(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link)
		pctxi_detach_stopped(ctx);
	handle_kept(loop);
	/* When all are detached, reap no more: a child that has exited is the caller's. */
	while ((find_controlled(loop) != NULL || any_unassigned(loop)) &&
	       handle_next(loop, WNOHANG) == 1)
		;
	drop_early(loop);
}
