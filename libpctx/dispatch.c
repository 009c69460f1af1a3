/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* dispatch.c - handles reports of waitpid(2) about LWPs. */
#include "dispatch.h"
#include "stop.h"

#include <stddef.h>
#include <sys/wait.h>

/* Handles a report of an LWP that is in no table. */
static void on_unknown_lwp(struct pctxi_loop *loop, const struct pctxi_stop *stop,
			   const struct pctxi_report *report)
{
	struct pctx *root = loop->root;

	if (stop->kind == PCTXI_STOP_DEATH) {
		/* A child that was detached, or was never a tracee. */
		if (root->origin == PCTXI_CREATED && report->tid == root->pid) {
			root->state = PCTXI_PROC_ENDED;
			root->status = report->status;
		}
	} else if (stop->kind != PCTXI_STOP_SIGNAL ||
		   !pctxi_detach_stranger(report->tid, report->status)) {
		pctxi_on_early_stop(loop, report->tid, stop->kind == PCTXI_STOP_GROUP);
	}
}

/* Finds an LWP that took over the id of a leader that had exited before the attach. */
static struct pctxi_lwp *find_renamed(struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_lwp *lwp = NULL;
	unsigned long former;

	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former) == 0)
		lwp = pctxi_lwp_find(loop, (pid_t)former);
	if (lwp != NULL)
		pctxi_lwp_rename(loop, lwp, tid);
	return lwp;
}

static void on_syscall(struct pctxi_lwp *lwp)
{
	enum pctxi_solib solib = pctxi_solib_stop(lwp);

	if (solib != PCTXI_SOLIB_NOTHING)
		pctxi_on_mapped(lwp, solib == PCTXI_SOLIB_DONE);
	pctxi_resume(lwp, 0);
}

static void on_death(struct pctxi_lwp *lwp, int status)
{
	struct pctxi_loop *loop;
	pid_t holds;

	if (lwp->ctx == NULL) { /* its creator's stop is still to come */
		lwp->state = PCTXI_LWP_GONE;
		lwp->status = status;
		return;
	}
	if (lwp->tid == lwp->ctx->pid && !LIST_EMPTY(&lwp->ctx->loop->early))
		pctxi_assign_unreported(lwp, true);
	loop = lwp->ctx->loop;
	holds = lwp->holds;
	pctxi_on_death(lwp, status);
	pctxi_resume_parent(loop, holds);
}

static void on_stop(struct pctxi_lwp *lwp, const struct pctxi_stop *stop)
{
	lwp->group_stop = stop->kind == PCTXI_STOP_GROUP;
	if (lwp->state == PCTXI_LWP_BORN) {
		pctxi_on_first_stop(lwp);
		return;
	}
	lwp->state = PCTXI_LWP_STOPPED;
	lwp->ctx->recent = lwp;
	switch (stop->kind) {
	case PCTXI_STOP_BIRTH:
		pctxi_on_birth(lwp, stop->thread);
		break;
	case PCTXI_STOP_EXEC:
		if (!LIST_EMPTY(&lwp->ctx->loop->early))
			pctxi_assign_unreported(lwp, false);
		pctxi_on_exec(lwp);
		break;
	case PCTXI_STOP_SYSCALL:
		on_syscall(lwp);
		break;
	case PCTXI_STOP_SIGNAL:
		pctxi_resume(lwp, pctxi_request_answer(lwp, stop->sig) ? 0 : stop->sig);
		break;
	case PCTXI_STOP_GROUP:
	case PCTXI_STOP_OTHER:
	case PCTXI_STOP_DEATH: /* not a stop */
		pctxi_resume(lwp, 0);
		break;
	}
}

void pctxi_dispatch(struct pctxi_loop *loop, const struct pctxi_report *report)
{
	struct pctxi_stop stop = pctxi_stop_decode(report->status);
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, report->tid);

	if (lwp != NULL && lwp->state == PCTXI_LWP_GONE) {
		pctxi_lwp_free(loop, lwp); /* its id now belongs to another LWP */
		lwp = NULL;
	}
	if (lwp == NULL && stop.kind == PCTXI_STOP_EXEC)
		lwp = find_renamed(loop, report->tid);
	if (lwp == NULL)
		on_unknown_lwp(loop, &stop, report);
	else if (stop.kind == PCTXI_STOP_DEATH)
		on_death(lwp, report->status);
	else if (lwp->ctx != NULL)
		on_stop(lwp, &stop);
}
