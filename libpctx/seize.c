/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* seize.c - seizes all LWPs of a running process, without stopping it. */
#include "base.h"
#include "chld.h"
#include "control.h"
#include "procfs.h"
#include "stop.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TRIES 1000 /* to catch a process that executes programs without end */
#define MAX_REFUSED 10
#define CLONE_NS (1000 * PCTXI_MSEC) /* how long to wait for a clone(2) to return */

/* The loop in PTRACE_SEIZE.  Volatile: ptrace() calls take_reports() by the signal. */
static _Thread_local struct pctxi_loop *volatile seizing;

/* The handler of SIGCHLD, which is unblocked only in seize_one(). */
static void take_reports(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)sig;
	(void)context;
	if (seizing != NULL) {
		pctxi_chld_pass_on(seizing, info);
		pctxi_reports_keep(seizing);
	}
	errno = saved;
}

/*
 * PTRACE_SEIZE waits while any LWP of the process is in execve(2), and that LWP waits until
 * the other LWPs have exited and their tracer has taken the reports.  To avoid the deadlock,
 * take reports meanwhile.
 */
static long seize_one(struct pctxi_loop *loop, pid_t tid, unsigned long options)
{
	sigset_t old;
	long rc;
	int err;

	seizing = loop;
	pctxi_chld_mask(SIG_UNBLOCK, &old);
	rc = ptrace(PTRACE_SEIZE, tid, NULL, options);
	err = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	seizing = NULL;
	errno = err;
	return rc;
}

enum { OURS, SEIZED, GONE };

/*
 * Seizing an LWP failed with `err`.  OURS: it is already under control, because an LWP under
 * control has just created it.  GONE: it has exited, perhaps after creating another LWP.  Else -1
 * and errno.
 */
static int not_seized(struct pctx *ctx, pid_t tid, int err)
{
	struct pctxi_task task;

	/*
	 * EPERM is also the error for LWPs that are under control already or have exited; a
	 * leader that has exited may have living LWPs.  One that no longer exists was
	 * exiting.
	 */
	if (pctxi_task_read(tid, &task) == -1) {
		if (tid != ctx->pid && (errno == ENOENT || errno == ESRCH))
			return GONE;
	} else if (task.tracer == ctx->loop->owner || (err == EPERM && pctxi_task_is_dead(&task))) {
		if (tid == ctx->pid)
			ctx->status = pctxi_exit_status(tid, 0);
		return task.tracer == ctx->loop->owner ? OURS : GONE;
	}
	return pctxi_errno(err);
}

static bool wants_no_forks(const struct pctx *ctx)
{
	return ctx->origin == PCTXI_ADDED && !pctxi_sees_forks(ctx);
}

/* Seizes one LWP, or reports why not.  -1 and errno. */
static int seize(struct pctx *ctx, pid_t tid)
{
	bool no_forks = wants_no_forks(ctx);
	unsigned long options = PCTXI_TRACE_OPTIONS & ~(no_forks ? PCTXI_TRACE_FORKS : 0);
	/* First add it to the tables, so that no LWP is under control without being there. */
	struct pctxi_lwp *lwp = pctxi_lwp_new(ctx->loop, tid, PCTXI_LWP_RUNNING);

	if (lwp == NULL)
		return -1;
	if (seize_one(ctx->loop, tid, options) == -1) {
		int err = errno;

		pctxi_lwp_free(ctx->loop, lwp);
		return not_seized(ctx, tid, err);
	}
	lwp->no_forks = no_forks;
	lwp->cloning = true;
	pctxi_lwp_join(lwp, ctx);
	return SEIZED;
}

/*
 * Seizes all LWPs that /proc lists.  Returns the number of newly seized ones, or -1 and errno.
 * `gone`: an LWP exited before it could be seized, so another pass is needed.  An exited leader
 * stays in /proc: it counts in the first pass only.
 */
static int seize_pass(struct pctx *ctx, DIR *dir, bool *leader_gone, bool *gone)
{
	int n = 0, got;
	pid_t tid;

	*gone = false;
	rewinddir(dir);
	while ((tid = pctxi_next_task(dir)) != 0) {
		if (pctxi_lwp_find(ctx->loop, tid) != NULL)
			continue;
		got = seize(ctx, tid);
		if (got == -1)
			return -1;
		n += got == SEIZED;
		if (got == GONE && (tid != ctx->pid || !*leader_gone))
			*gone = true;
		*leader_gone |= got == GONE && tid == ctx->pid;
	}
	return errno == 0 || errno == ENOENT || errno == ESRCH ? n : -1;
}

/* The leader in the tables has exited, or has been replaced by an exec. */
static void forget_leader(struct pctx *ctx)
{
	struct pctxi_loop *loop = ctx->loop;
	struct pctxi_lwp *leader = pctxi_lwp_find(loop, ctx->pid);

	/* If a report of its exit is kept, the run finds it. */
	if (leader == NULL || pctxi_reports_until_death(loop, ctx->pid) != 0)
		return;
	pctxi_reports_drop(loop, ctx->pid, loop->nreports);
	pctxi_lwp_free(loop, leader);
}

/*
 * Removes an LWP that has exited, or has become the leader by an exec.  Reports of its id after
 * its exit are those of a new LWP.  A new leader has no other reports: until it is resumed, it
 * stays in the stop that is kept.
 */
static void forget(struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	pctxi_reports_drop(loop, lwp->tid, pctxi_reports_until_death(loop, lwp->tid));
	pctxi_lwp_free(loop, lwp);
}

/* Forgets LWPs that have exited, or have become the leader by an exec. */
static void forget_gone(struct pctx *ctx)
{
	struct pctxi_lwp *lwp, *next;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = next) {
		next = pctxi_lwp_next(lwp);
		if (lwp->tid != ctx->pid && syscall(SYS_tgkill, ctx->pid, lwp->tid, 0) == -1 &&
		    errno == ESRCH)
			forget(ctx->loop, lwp);
	}
	if (RB_EMPTY(&ctx->lwps))
		ctx->next_id = 1;
}

/* Checks that the leader is under control: 0 if it is in the tables, or -1 and errno. */
static int have_leader(struct pctx *ctx)
{
	struct pctxi_lwp *leader = pctxi_lwp_find(ctx->loop, ctx->pid);

	if (leader != NULL)
		return 0;
	leader = pctxi_lwp_new(ctx->loop, ctx->pid, PCTXI_LWP_RUNNING);
	if (leader == NULL)
		return -1;
	leader->no_forks = wants_no_forks(ctx);
	leader->cloning = true;
	pctxi_lwp_join(leader, ctx);
	return 0;
}

/*
 * Checks that the leader is still the LWP in the tables, after a pass that seized all LWPs.
 * During the pass, another LWP may have executed a program and taken the leader's id.  If we
 * trace that LWP, the tables may still have it under its former id; if we do not, the new leader
 * is untraced although the old one was traced.
 *
 * Returns 1 if all live LWPs are traced, 0 to try again, -1 and errno.
 */
static int verify_leader(struct pctx *ctx)
{
	struct pctxi_task task;
	bool gone = false;

	if (pctxi_task_read(ctx->pid, &task) == -1) {
		if (errno != ENOENT && errno != ESRCH)
			return -1;
		/* While an id changes hands, /proc briefly shows no task with it. */
		if (kill(ctx->pid, 0) == 0 || errno != ESRCH)
			return 0;
		gone = true;
	}
	forget_gone(ctx);
	if (!gone && task.tracer == ctx->loop->owner)
		return have_leader(ctx) == -1 ? -1 : 1;
	forget_leader(ctx);
	return gone || pctxi_task_is_dead(&task);
}

/* ---- births that began before the attach -------------------------------------------- */

/*
 * Handles stops: an LWP that has reported anything has left clone(2).  Resumes those that we
 * stopped, also in processes that were attached before.
 */
static void handle_stops(struct pctxi_loop *loop)
{
	size_t n = 0;

	pctxi_reports_keep(loop);
	for (size_t i = 0; i < loop->nreports; i++) {
		const struct pctxi_report report = loop->report[i];
		struct pctxi_lwp *lwp = pctxi_lwp_find(loop, report.tid);
		bool goes_on = lwp != NULL && lwp->interrupted &&
			       report.status == PCTXI_STOPPED(SIGTRAP | PTRACE_EVENT_STOP << 8);

		if (lwp != NULL)
			lwp->interrupted = false;
		if (goes_on)
			ptrace(PTRACE_CONT, report.tid, NULL, NULL);
		else
			loop->report[n++] = report;
	}
	loop->nreports = n;
}

/* Is there an interrupted LWP that will stop? */
static bool any_to_stop(struct pctx *ctx)
{
	struct pctxi_task task;
	struct pctxi_lwp *lwp;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp)) {
		if (lwp->interrupted && pctxi_task_read(lwp->tid, &task) == 0 &&
		    !pctxi_task_is_dead(&task))
			return true;
	}
	return false;
}

/*
 * Waits until no LWP is in a clone(2) that began before it was seized: the LWP created by
 * that is not seized.  All other new LWPs are seized together with their creator.  So each
 * LWP must be seen outside of clone(2).  /proc does not show where a running one is:
 * interrupt it, which stops it when it leaves the kernel, and resume it at once.  One that
 * sleeps in clone(2) for long waits for its child of vfork(2), which was created long ago.
 *
 * Called when all listed LWPs are under control.  False: no LWP had to be waited for.
 */
static bool await_clones(struct pctx *ctx, int dir)
{
	const struct timespec nap = {.tv_nsec = PCTXI_MSEC};
	int64_t end = pctxi_now_ns() + CLONE_NS;
	struct pctxi_lwp *lwp;
	bool any = false;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp)) {
		any |= lwp->cloning;
		if (lwp->cloning && pctxi_task_may_clone(dir, lwp->tid))
			lwp->interrupted = ptrace(PTRACE_INTERRUPT, lwp->tid, NULL, NULL) == 0;
		lwp->cloning = false;
	}
	while (any) {
		handle_stops(ctx->loop);
		if (!any_to_stop(ctx) || pctxi_now_ns() > end)
			break;
		pctxi_chld_wait(ctx->loop, &nap);
	}
	return any;
}

/* ---- all LWPs ----------------------------------------------------------------------- */

/* 0 if all LWPs are under control, or -1 and errno. */
static int seize_listed(struct pctx *ctx, DIR *dir)
{
	bool leader_gone = false, gone;
	int n, tries = 0, refused = 0;

	for (;;) {
		n = seize_pass(ctx, dir, &leader_gone, &gone);
		/* A refused LWP may have been exiting, and its id may be another's by now. */
		if (n == -1 && (errno != EPERM || ++refused == MAX_REFUSED))
			return -1;
		if (n != -1)
			refused = 0;
		if (n != 0)
			continue;
		n = verify_leader(ctx);
		if (n == -1)
			return -1;
		if (n == 1 && gone && ++tries < MAX_TRIES)
			continue;
		if (n == 1 && !await_clones(ctx, dirfd(dir)))
			break;
		if (n == 0 && ++tries == MAX_TRIES)
			return pctxi_errno(EAGAIN);
	}
	errno = EPERM;
	return RB_EMPTY(&ctx->lwps) ? -1 : 0;
}

int pctxi_seize_all(struct pctx *ctx)
{
	DIR *dir = pctxi_open_tasks(ctx->pid);
	sigset_t old;
	int rc, err;

	if (dir == NULL) {
		errno = errno == ENOENT ? ESRCH : errno;
		return -1;
	}
	pctxi_chld_mask(SIG_BLOCK, &old);
	pctxi_chld_catch(take_reports);
	rc = seize_listed(ctx, dir);
	err = errno;
	pctxi_chld_catch_end();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	closedir(dir);
	errno = err;
	return rc;
}

/* ---- LWPs created with CLONE_UNTRACED ----------------------------------------------- */

static long count_lwps(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;
	long n = 0;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp))
		n++;
	return n;
}

pid_t pctxi_find_untraced(struct pctx *ctx)
{
	DIR *dir = ctx->loop->own_proc ? pctxi_open_tasks(ctx->pid) : NULL;
	struct pctxi_task task;
	struct stat st;
	pid_t tid = 0;

	if (dir == NULL)
		return 0;
	/* Each LWP is a directory, which adds a link to this one's two. */
	if (fstat(dirfd(dir), &st) == 0 && (long)st.st_nlink - 2 > count_lwps(ctx)) {
		while ((tid = pctxi_next_task(dir)) != 0) {
			if (pctxi_lwp_find(ctx->loop, tid) == NULL &&
			    pctxi_task_read(tid, &task) == 0 && task.tracer == 0 &&
			    !pctxi_task_is_dead(&task))
				break;
		}
	}
	closedir(dir);
	return tid;
}
