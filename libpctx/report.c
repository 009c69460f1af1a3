/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* report.c - takes reports of waitpid(2) about the LWPs under control. */
#include "control.h"
#include "stop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

/*
 * Can this stop be handled without waitpid(2)?  Then the LWP keeps its signal, which the kernel
 * delivers if we are killed.  An LWP in a stop at exec can only be resumed after waitpid(2).
 */
static bool can_skip_wait(struct pctxi_loop *loop, const siginfo_t *info)
{
	const struct pctxi_lwp *lwp = pctxi_lwp_find(loop, info->si_pid);

	return info->si_code == CLD_TRAPPED && info->si_status >> 8 != PTRACE_EVENT_EXEC &&
	       lwp != NULL && lwp->ctx != NULL;
}

/* Reports an exit before waitpid(2): until then the LWP is a zombie with an entry in /proc. */
static void report_ending(struct pctxi_loop *loop, const siginfo_t *info)
{
	struct pctxi_lwp *lwp;
	struct pctx *ctx;

	if (info->si_code != CLD_EXITED && info->si_code != CLD_KILLED &&
	    info->si_code != CLD_DUMPED)
		return;
	lwp = pctxi_lwp_find(loop, info->si_pid);
	ctx = lwp != NULL ? lwp->ctx : NULL;
	if (ctx == NULL || !lwp->begun || ctx->state != PCTXI_PROC_FOLLOWED ||
	    ctx->handlers.ending == NULL)
		return;
	ctx->recent = lwp;
	ctx->handlers.ending(ctx, ctx->pid, lwp->id, ctx->handlers.arg);
}

int pctxi_report_next(struct pctxi_loop *loop, struct pctxi_report *report, int flags)
{
	siginfo_t info;
	pid_t taken;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | PCTXI_WAIT_FLAGS | flags) == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (info.si_pid == 0)
			return 0;
		report->tid = info.si_pid;
		report_ending(loop, &info);
		if (can_skip_wait(loop, &info))
			report->status = PCTXI_STOPPED(info.si_status);
		else if ((taken = waitpid(info.si_pid, &report->status,
					  PCTXI_WAIT_FLAGS | WNOHANG)) <= 0) {
			if (taken == -1 && errno != ECHILD && errno != EINTR)
				return -1;
			continue; /* killed in its stop: that is reported next */
		}
		return 1;
	}
}

bool pctxi_report_pending(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | PCTXI_WAIT_FLAGS) ==
	       0;
}

/* Does waitpid(2) for any LWP, after calling the ending handler if there is one. */
static pid_t wait_any(struct pctxi_loop *loop, int *status)
{
	siginfo_t info = {0};
	pid_t pid = -1;

	if (loop->root->handlers.ending != NULL) {
		if (waitid(P_ALL, 0, &info,
			   WEXITED | WSTOPPED | WNOHANG | WNOWAIT | PCTXI_WAIT_FLAGS) == -1 ||
		    info.si_pid == 0)
			return 0;
		report_ending(loop, &info);
		pid = info.si_pid;
	}
	return waitpid(pid, status, PCTXI_WAIT_FLAGS | WNOHANG);
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
		report[loop->nreports].tid = wait_any(loop, &report[loop->nreports].status);
		if (report[loop->nreports].tid <= 0)
			return;
		loop->nreports++;
	}
}

bool pctxi_reports_wait(struct pctxi_loop *loop)
{
	const size_t before = loop->nreports;
	siginfo_t info;

	while (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | PCTXI_WAIT_FLAGS) == -1) {
		if (errno != EINTR)
			return false;
	}
	pctxi_reports_keep(loop);
	return loop->nreports > before;
}

size_t pctxi_reports_until_death(const struct pctxi_loop *loop, pid_t tid)
{
	for (size_t i = 0; i < loop->nreports; i++) {
		if (loop->report[i].tid == tid && !WIFSTOPPED(loop->report[i].status))
			return i + 1;
	}
	return 0;
}

void pctxi_reports_drop(struct pctxi_loop *loop, pid_t tid, size_t first)
{
	size_t n = 0;

	for (size_t i = 0; i < loop->nreports; i++) {
		if (i >= first || loop->report[i].tid != tid)
			loop->report[n++] = loop->report[i];
	}
	loop->nreports = n;
}
