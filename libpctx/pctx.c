/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pctx.c - the handle: made, given its events, run, released.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void default_errfn(const char *fn, const char *fmt, va_list ap)
{
	fprintf(stderr, "libpctx: pctx_%s: ", fn);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void pctxi_error(pctx_errfn_t *errfn, const char *fn, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	errfn(fn, fmt, ap);
	va_end(ap);
	errno = saved;
}

/* A loop with its first process, or NULL. */
static struct pctx *new_root(void *arg, pctx_errfn_t *errfn)
{
	struct pctxi_loop *loop = pctxi_loop_new();
	struct pctx *ctx;

	if (loop == NULL)
		return NULL;
	ctx = pctxi_proc_new(loop, 0);
	if (ctx == NULL) {
		pctxi_loop_free(loop);
		return NULL;
	}
	loop->root = ctx;
	ctx->arg = arg;
	ctx->errfn = errfn;
	return ctx;
}

static void say_why_not_started(pctx_errfn_t *errfn, const char *filename)
{
	struct pctxi_task self;

	switch (errno) {
	case ENOENT:
		/* A script's interpreter, or a program's dynamic linker. */
		if (strchr(filename, '/') != NULL && access(filename, F_OK) == 0)
			pctxi_error(errfn, PCTXI_FN_CREATE,
				    "cannot find the interpreter of program '%s'", filename);
		else
			pctxi_error(errfn, PCTXI_FN_CREATE, "cannot find program '%s'", filename);
		errno = ENOENT;
		break;
	case EPERM:
		if (pctxi_task_read(getpid(), &self) == 0 && self.tracer != 0) {
			pctxi_error(errfn, PCTXI_FN_CREATE,
				    "cannot control program '%s': process %d, which traces "
				    "us, would trace it, too",
				    filename, (int)self.tracer);
			errno = EPERM;
			break;
		}
		pctxi_error(errfn, PCTXI_FN_CREATE,
			    "cannot control program '%s': ptrace(2) is not permitted here (a "
			    "container's seccomp profile, or kernel.yama.ptrace_scope)",
			    filename);
		break;
	case EINTR:
		pctxi_error(errfn, PCTXI_FN_CREATE, "program '%s' was killed before it started",
			    filename);
		break;
	default:
		pctxi_error(errfn, PCTXI_FN_CREATE, "cannot execute program '%s': %s", filename,
			    strerror(errno));
		break;
	}
}

pctx_t *pctx_create(const char *filename, char *const *argv, void *arg, int verbose,
		    pctx_errfn_t *errfn)
{
	struct pctxi_lwp *lwp;
	struct pctx *ctx;
	int saved;

	(void)verbose;
	if (errfn == NULL)
		errfn = default_errfn;
	ctx = new_root(arg, errfn);
	if (ctx == NULL) {
		say_why_not_started(errfn, filename);
		return NULL;
	}
	ctx->pid = pctxi_spawn(filename, argv, &ctx->loop->old_chld);
	if (ctx->pid == -1) {
		say_why_not_started(errfn, filename);
		goto fail;
	}
	ctx->created = true;
	lwp = pctxi_lwp_new(ctx->loop, ctx->pid, LWP_STOPPED);
	if (lwp == NULL) {
		say_why_not_started(errfn, filename);
		kill(ctx->pid, SIGKILL);
		waitpid(ctx->pid, NULL, __WALL);
		errno = ENOMEM;
		goto fail;
	}
	pctxi_lwp_join(lwp, ctx);
	return ctx;
fail:
	saved = errno;
	pctxi_loop_free(ctx->loop);
	errno = saved;
	return NULL;
}

static pctx_t *capture_root(void *arg, pctx_errfn_t *errfn, const char *what)
{
	struct pctx *ctx;

	if (errfn == NULL)
		errfn = default_errfn;
	ctx = new_root(arg, errfn);
	if (ctx == NULL)
		pctxi_error(errfn, PCTXI_FN_CAPTURE, "cannot track %s: %s", what, strerror(errno));
	return ctx;
}

pctx_t *pctx_capture(pid_t pid, void *arg, int verbose, pctx_errfn_t *errfn)
{
	char what[32];
	struct pctx *ctx;
	int saved;

	(void)verbose;
	snprintf(what, sizeof(what), "process %d", (int)pid);
	ctx = capture_root(arg, errfn, what);
	if (ctx == NULL)
		return NULL;
	ctx->pid = pid;
	if (pctxi_attach(ctx) == -1) {
		saved = errno;
		pctx_release(ctx);
		errno = saved;
		return NULL;
	}
	return ctx;
}

pctx_t *pctx_open(void *arg, pctx_errfn_t *errfn)
{
	return capture_root(arg, errfn, "processes");
}

pctx_t *pctx_add(pctx_t *pctx, pid_t pid)
{
	struct pctx *ctx;
	int saved;

	if (pctx->state != PCTX_HELD || pctx->loop->owner != (pid_t)_lwp_self()) {
		errno = EINVAL;
		return NULL;
	}
	TAILQ_FOREACH(ctx, &pctx->loop->procs, link) {
		if (ctx->pid == pid && ctx->state == PCTX_HELD)
			return ctx;
	}
	ctx = pctxi_child_of(pctx, pid);
	if (ctx == NULL) {
		pctxi_error(pctx->errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s", (int)pid,
			    strerror(errno));
		return NULL;
	}
	if (pctxi_attach(ctx) == 0)
		return ctx;
	saved = errno;
	ctx->adopted = false; /* it is freed here, also when it ends meanwhile */
	pctxi_leave(ctx);
	pctxi_leave_wait(ctx);
	pctxi_proc_free(ctx);
	errno = saved;
	return NULL;
}

int pctx_set_events(pctx_t *pctx, ...)
{
	pctx_event_t event;
	va_list ap;
	int err = 0;

	va_start(ap, pctx);
	while (err == 0 && (event = va_arg(ap, pctx_event_t)) != PCTX_NULL_EVENT) {
		switch (event) {
		case PCTX_SYSC_EXEC_EVENT:
			pctx->exec = va_arg(ap, pctx_sysc_execfn_t *);
			break;
		case PCTX_SYSC_FORK_EVENT:
			pctx->fork = va_arg(ap, pctx_sysc_forkfn_t *);
			break;
		case PCTX_SYSC_EXIT_EVENT:
			pctx->exit = va_arg(ap, pctx_sysc_exitfn_t *);
			break;
		case PCTX_SYSC_LWP_CREATE_EVENT:
			pctx->lwp_create = va_arg(ap, pctx_sysc_lwp_createfn_t *);
			break;
		case PCTX_INIT_LWP_EVENT:
			pctx->init_lwp = va_arg(ap, pctx_init_lwpfn_t *);
			break;
		case PCTX_FINI_LWP_EVENT:
			pctx->fini_lwp = va_arg(ap, pctx_fini_lwpfn_t *);
			break;
		case PCTX_SYSC_LWP_EXIT_EVENT:
			pctx->lwp_exit = va_arg(ap, pctx_sysc_lwp_exitfn_t *);
			break;
		case PCTX_IDLE_EVENT:
			pctx->idle = va_arg(ap, pctx_idlefn_t *);
			break;
		case PCTX_CALL_EVENT:
			pctx->call = va_arg(ap, pctx_callfn_t *);
			break;
		case PCTX_MAPPED_EVENT:
			pctx->mapped = va_arg(ap, pctx_mappedfn_t *);
			break;
		case PCTX_NULL_EVENT:
		default:
			pctxi_error(pctx->errfn, "set_events", "unknown event %d", (int)event);
			err = EINVAL;
			break;
		}
	}
	va_end(ap);
	if (err != 0) {
		errno = err;
		return -1;
	}
	return 0;
}

int pctx_run(pctx_t *pctx, uint_t msec, uint_t nsamples, int (*tick)(pctx_t *, pid_t, id_t, void *))
{
	struct pctxi_loop *loop = pctx->loop;
	struct pctx *ctx;

	if (pctx->state != PCTX_HELD || loop->owner != (pid_t)_lwp_self()) {
		pctxi_error(pctx->errfn, PCTXI_FN_RUN,
			    pctx->state != PCTX_HELD ? "process %d is no longer controlled"
						     : "process %d belongs to another thread",
			    (int)pctx->pid);
		errno = EINVAL;
		return -1;
	}
	pctx->tick = tick;
	if (loop->running) {
		/* Its LWP begins when it is in its first stop. */
		pctx->state = PCTX_FOLLOWED;
		return 0;
	}
	loop->interval_ns = (int64_t)msec * 1000000;
	loop->samples_left = msec != 0 ? nsamples : 0;
	TAILQ_FOREACH(ctx, &loop->procs, link) {
		ctx->tick = tick;
		pctxi_follow(ctx);
	}
	return pctxi_loop_run(loop);
}

/* Wakes the loop out of its sleep, too, which ends with a pending SIGCHLD. */
void pctx_terminate(pctx_t *pctx)
{
	int saved = errno;

	pctx->loop->terminate = 1;
	syscall(SYS_tgkill, getpid(), pctx->loop->owner, SIGCHLD);
	errno = saved;
}

static void leave_all(struct pctxi_loop *loop)
{
	struct pctx *ctx;

	TAILQ_FOREACH(ctx, &loop->procs, link)
		pctxi_leave(ctx);
	pctxi_leave_finish(loop);
}

int pctx_wait(pctx_t *pctx, int *status)
{
	if (!pctx->created) {
		errno = ECHILD;
		return -1;
	}
	leave_all(pctx->loop);
	if (!pctx->ended && pctxi_loop_wait(pctx->loop) == -1)
		return -1;
	*status = pctx->status;
	return 0;
}

void pctx_release(pctx_t *pctx)
{
	struct pctxi_loop *loop = pctx->loop;

	leave_all(loop);
	pctxi_loop_free(loop);
}

pid_t pctx_pid(const pctx_t *pctx)
{
	return pctx->pid;
}

int pctx_stopped(const pctx_t *pctx)
{
	const struct pctxi_lwp *lwp = pctxi_lwp_by_id(pctx, 1);

	return pctx->stopped || (lwp != NULL && lwp->state == LWP_LISTENING);
}

pid_t pctx_lwp_tid(const pctx_t *pctx, id_t lwp)
{
	const struct pctxi_lwp *l = pctxi_lwp_by_id(pctx, lwp);

	if (l == NULL) {
		errno = ESRCH;
		return -1;
	}
	return l->tid;
}
