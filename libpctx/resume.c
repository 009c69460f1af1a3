/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* resume.c - resumes stopped LWPs, or detaches them. */
#include "control.h"
#include "procfs.h"

#include <sys/wait.h>

bool pctxi_sees_forks(const struct pctx *ctx)
{
	return ctx->handlers.fork != NULL || ctx->handlers.child != NULL;
}

/* Disables stops at forks that no handler needs.  New threads inherit the options. */
static void disable_forks(struct pctxi_lwp *lwp)
{
	const unsigned long options = PCTXI_TRACE_OPTIONS & ~PCTXI_TRACE_FORKS;

	if (lwp->no_forks || pctxi_sees_forks(lwp->ctx))
		return;
	lwp->no_forks = ptrace(PTRACE_SETOPTIONS, lwp->tid, NULL, options) == 0;
}

void pctxi_resume_parent(struct pctxi_loop *loop, pid_t parent)
{
	struct pctxi_lwp *lwp = parent != 0 ? pctxi_lwp_find(loop, parent) : NULL;

	if (lwp != NULL && lwp->ctx != NULL && lwp->state == PCTXI_LWP_STOPPED)
		pctxi_resume(lwp, 0);
}

/* Each of these calls fails with ESRCH if the LWP was killed; its exit is reported next. */
void pctxi_resume(struct pctxi_lwp *lwp, int sig)
{
	struct pctx *ctx = lwp->ctx;
	pid_t holds = lwp->holds;
	void *data = (void *)(long)sig;

	if (ctx->state == PCTXI_PROC_DETACHING) {
		if (ptrace(PTRACE_DETACH, lwp->tid, NULL, data) == 0) {
			pctxi_lwp_free(ctx->loop, lwp);
			pctxi_proc_detached_if_empty(ctx);
			pctxi_resume_parent(ctx->loop, holds);
			return;
		}
		lwp->state = PCTXI_LWP_RUNNING;
		return;
	}
	disable_forks(lwp);
	if (lwp->group_stop && ptrace(PTRACE_LISTEN, lwp->tid, NULL, NULL) == 0) {
		lwp->state = PCTXI_LWP_LISTENING;
		return;
	}
	lwp->state = PCTXI_LWP_RUNNING;
	ptrace(ctx->r_debug != 0 || ctx->watch_all ? PTRACE_SYSCALL : PTRACE_CONT, lwp->tid, NULL,
	       data);
}

static void detach(struct pctx *ctx, bool interrupt)
{
	bool held = ctx->state == PCTXI_PROC_HELD;
	struct pctxi_lwp *lwp, *next;

	if (pctxi_proc_is_detached(ctx) || ctx->state == PCTXI_PROC_DETACHING)
		return;
	ctx->state = PCTXI_PROC_DETACHING;
	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = next) {
		next = pctxi_lwp_next(lwp);
		if (lwp->tid == ctx->pid && next != NULL && pctxi_is_zombie(lwp->tid)) {
			/*
			 * A leader that exited before its other LWPs neither stops nor can be
			 * detached: the kernel detaches it at our exit.
			 */
			pctxi_lwp_free(ctx->loop, lwp);
		} else if (lwp->state == PCTXI_LWP_RUNNING || lwp->state == PCTXI_LWP_LISTENING) {
			if (interrupt)
				ptrace(PTRACE_INTERRUPT, lwp->tid, NULL, NULL);
		} else if (held && lwp->state == PCTXI_LWP_STOPPED) {
			pctxi_resume(lwp, 0);
		}
	}
	pctxi_proc_detached_if_empty(ctx);
}

void pctxi_detach(struct pctx *ctx)
{
	detach(ctx, true);
}

void pctxi_detach_stopped(struct pctx *ctx)
{
	detach(ctx, false);
}

void pctxi_drop(struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	if (lwp->state == PCTXI_LWP_EARLY)
		ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
	pctxi_lwp_free(loop, lwp);
}

/* Is this the first SIGSTOP of an unseized child of a tracee?  The kernel itself sends it. */
static bool is_first_stop(pid_t tid)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code == SI_USER &&
	       info.si_pid == 0;
}

/*
 * A detached child may call PTRACE_TRACEME, as some programs do so that no other process can
 * trace them.  Then it stops at each signal, and with SIGTRAP at an exec.  An LWP that is
 * created under control begins with an event stop instead.
 */
bool pctxi_detach_stranger(pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == SIGTRAP || (sig == SIGSTOP && is_first_stop(tid)))
		sig = 0;
	return ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)sig) == 0;
}
