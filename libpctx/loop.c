/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loop.c - wait for what happens next or for the next tick, until all is over.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define NSEC 1000000000LL
#define MSEC 1000000LL
#define EARLY_NAP (5 * MSEC) /* while somebody waits to be named */
#define STREAK 64	     /* so many reports in a row are a storm */

/* Only what this thread made or controls: other threads' children are theirs. */
#define WAIT_FLAGS (__WALL | __WNOTHREAD)

int64_t pctxi_now_ns(void)
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
	late = pctxi_now_ns() - loop->next_tick_ns;
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
	int64_t left = loop->interval_ns != 0 ? loop->next_tick_ns - pctxi_now_ns() : INT64_MAX;
	int64_t again = root->idle != NULL ? (int64_t)root->idle(root, root->arg) * MSEC : 0;
	struct timespec ts;

	if (again != 0 && again < left)
		left = again;
	if (!LIST_EMPTY(&loop->early) && left > EARLY_NAP)
		left = EARLY_NAP;
	if (left <= 0 || loop->terminate)
		return;
	ts.tv_sec = left / NSEC;
	ts.tv_nsec = left % NSEC;
	sigtimedwait(chld, NULL, left != INT64_MAX ? &ts : NULL);
}

/* Does anything still happen to a process that we follow or are about to leave? */
static bool any_process_left(const struct pctxi_loop *loop)
{
	const struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx->state != PCTX_LEFT)
			return true;
	}
	return false;
}

/* Does somebody wait to be named? */
static bool any_early(const struct pctxi_loop *loop)
{
	const struct pctxi_lwp *lwp;

	LIST_FOREACH(lwp, &loop->early, early) {
		if (lwp->state == LWP_EARLY)
			return true;
	}
	return false;
}

/* Is somebody there who belongs to us, but is not in our tables yet? */
static bool any_unnamed(struct pctxi_loop *loop)
{
	siginfo_t info;

	if (any_early(loop))
		return true;
	/* Cheaper than to look for them, and mostly there is nobody at all. */
	return loop->root->fork != NULL &&
	       waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | WAIT_FLAGS) == 0 &&
	       pctxi_orphans_to_come(loop);
}

static void forget_left(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	while ((ctx = LIST_FIRST(&loop->left)) != NULL) {
		if (ctx->state == PCTX_LEFT) {
			pctxi_proc_free(ctx);
			continue;
		}
		ctx->forgettable = false; /* an LWP of it was named after all */
		LIST_REMOVE(ctx, left);
	}
}

/*
 * Is this the stop of an LWP that goes on when it is acted on?  Not waited for, it keeps
 * the signal that it stopped with, which the kernel delivers should we be killed.  A stop
 * at exec can only be ended once it was waited for.
 */
static bool goes_on(struct pctxi_loop *loop, const siginfo_t *info)
{
	const struct pctxi_lwp *lwp = pctxi_lwp_find(loop, info->si_pid);

	return info->si_code == CLD_TRAPPED && info->si_status >> 8 != PTRACE_EVENT_EXEC &&
	       lwp != NULL && lwp->ctx != NULL;
}

/* Acts on the next report: 1.  0: there is none now; -1: nobody is there to report. */
static int act(struct pctxi_loop *loop, int flags)
{
	siginfo_t info;
	int status;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WAIT_FLAGS | flags) == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (info.si_pid == 0)
			return 0;
		if (goes_on(loop, &info))
			status = W_STOPCODE(info.si_status);
		else if (waitpid(info.si_pid, &status, WAIT_FLAGS | WNOHANG) <= 0)
			continue; /* killed in its stop: that is reported next */
		pctxi_dispatch(loop, info.si_pid, status);
		return 1;
	}
}

void pctxi_reports_keep(struct pctxi_loop *loop)
{
	struct pctxi_report *report = loop->report;
	size_t max = loop->max_reports;

	for (;;) {
		if (loop->nreports == max) {
			max = max != 0 ? 2 * max : 64;
			report = reallocarray(report, max, sizeof(*report));
			if (report == NULL)
				return;
			loop->report = report;
			loop->max_reports = max;
		}
		report[loop->nreports].tid =
			waitpid(-1, &report[loop->nreports].status, WAIT_FLAGS | WNOHANG);
		if (report[loop->nreports].tid <= 0)
			return;
		loop->nreports++;
	}
}

static void act_on_kept(struct pctxi_loop *loop)
{
	for (size_t i = 0; i < loop->nreports; i++)
		pctxi_dispatch(loop, loop->report[i].tid, loop->report[i].status);
	loop->nreports = 0;
}

/* 0 when it is over for any reason, -1 when control was lost. */
static int run(struct pctxi_loop *loop, const sigset_t *chld)
{
	int got, streak = 0;

	act_on_kept(loop);
	while (!loop->terminate) {
		got = act(loop, WNOHANG);
		streak = got > 0 ? streak + 1 : 0;
		if (streak == STREAK) {
			/*
			 * The kernel names the youngest LWP first, so old ones would wait for
			 * ever.  But all that report now have their turn before others do.
			 */
			streak = 0;
			pctxi_reports_keep(loop);
			act_on_kept(loop);
		}
		/* Here, so that a storm of events does not keep these from coming. */
		if (streak == 0 && !LIST_EMPTY(&loop->early))
			pctxi_orphans_late(loop, pctxi_now_ns());
		if (!tick_if_due(loop))
			return 0;
		if (got > 0)
			continue;
		forget_left(loop);
		if (!any_process_left(loop) && !any_unnamed(loop))
			return 0;
		if (got == -1)
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
	loop->next_tick_ns = pctxi_now_ns() + loop->interval_ns;
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

/* No longer controlled, it is a child like others; the idle handler is called as before. */
int pctxi_loop_wait(struct pctxi_loop *loop)
{
	struct pctx *root = loop->root;
	sigset_t chld, old;
	int status;
	pid_t pid;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &chld, &old);
	loop->interval_ns = 0;
	while (!root->ended) {
		pid = waitpid(root->pid, &status, WUNTRACED | WCONTINUED | WNOHANG);
		if (pid == -1 && errno != EINTR)
			break;
		loop->terminate = 0; /* there is nothing more to end */
		if (pid != root->pid)
			nap(loop, &chld);
		else if (WIFSTOPPED(status) || WIFCONTINUED(status))
			root->stopped = WIFSTOPPED(status) && !pctxi_disown(pid, status);
		else {
			root->ended = true;
			root->status = status;
		}
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return root->ended ? 0 : -1;
}

void pctxi_leave_wait(struct pctx *ctx)
{
	act_on_kept(ctx->loop);
	while (ctx->state != PCTX_LEFT && act(ctx->loop, 0) == 1)
		;
}

/* Whoever never got named leaves, too. */
static void leave_unnamed(struct pctxi_loop *loop)
{
	struct pctxi_lwp *lwp;

	while ((lwp = LIST_FIRST(&loop->early)) != NULL) {
		if (lwp->state == LWP_EARLY)
			ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
		pctxi_lwp_free(loop, lwp);
	}
}

void pctxi_leave_finish(struct pctxi_loop *loop)
{
	act_on_kept(loop);
	do {
		while (any_process_left(loop) && act(loop, 0) == 1)
			forget_left(loop);
		leave_unnamed(loop);
	} while (any_unnamed(loop) && act(loop, 0) == 1);
}
