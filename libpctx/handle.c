/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* handle.c - the public calls: make handles, set their handlers, run and release them. */
#include "base.h"
#include "control.h"
#include "dispatch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a loop with its first process, or returns NULL and errno. */
static struct pctx *new_root(enum pctxi_origin origin, void *arg, pctx_errfn_t *errfn)
{
	const struct pctxi_handlers handlers = {.arg = arg, .errfn = errfn};
	struct pctxi_loop *loop = pctxi_loop_new();
	struct pctx *ctx;

	if (loop == NULL)
		return NULL;
	ctx = pctxi_proc_new(loop, 0, origin, &handlers);
	if (ctx == NULL) {
		pctxi_loop_free(loop);
		errno = ENOMEM;
		return NULL;
	}
	loop->root = ctx;
	return ctx;
}

/* The reason why new_root() failed. */
static const char *why_no_root(void)
{
	return errno == EBUSY ? "this thread has another handle, which must be released first"
			      : strerror(errno);
}

/* Releases the handle of a call that failed; keeps errno. */
static pctx_t *release_failed(struct pctx *ctx)
{
	int saved = errno;

	pctx_release(ctx);
	errno = saved;
	return NULL;
}

pctx_t *pctx_create(const char *filename, char *const *argv, void *arg, int verbose,
		    pctx_errfn_t *errfn)
{
	struct pctxi_lwp *lwp;
	struct pctx *ctx;

	(void)verbose;
	if (errfn == NULL)
		errfn = pctxi_default_errfn;
	ctx = new_root(PCTXI_CREATED, arg, errfn);
	if (ctx == NULL) {
		pctxi_error(errfn, PCTXI_FN_CREATE, "cannot start program '%s': %s", filename,
			    why_no_root());
		return NULL;
	}
	ctx->pid = pctxi_spawn(errfn, filename, argv, &ctx->loop->old_chld);
	if (ctx->pid == -1)
		return release_failed(ctx);
	lwp = pctxi_lwp_new(ctx->loop, ctx->pid, PCTXI_LWP_STOPPED);
	if (lwp == NULL) {
		pctxi_error(errfn, PCTXI_FN_CREATE, "cannot start program '%s': %s", filename,
			    strerror(ENOMEM));
		kill(ctx->pid, SIGKILL);
		waitpid(ctx->pid, NULL, __WALL);
		errno = ENOMEM;
		return release_failed(ctx);
	}
	pctxi_lwp_join(lwp, ctx);
	return ctx;
}

static pctx_t *capture_root(void *arg, pctx_errfn_t *errfn, const char *what)
{
	struct pctx *ctx;

	if (errfn == NULL)
		errfn = pctxi_default_errfn;
	ctx = new_root(PCTXI_CAPTURED, arg, errfn);
	if (ctx == NULL)
		pctxi_error(errfn, PCTXI_FN_CAPTURE, "cannot track %s: %s", what, why_no_root());
	return ctx;
}

pctx_t *pctx_capture(pid_t pid, void *arg, int verbose, pctx_errfn_t *errfn)
{
	char what[32];
	struct pctx *ctx;

	(void)verbose;
	snprintf(what, sizeof(what), "process %d", (int)pid);
	ctx = capture_root(arg, errfn, what);
	if (ctx == NULL)
		return NULL;
	ctx->pid = pid;
	return pctxi_attach(ctx) == 0 ? ctx : release_failed(ctx);
}

pctx_t *pctx_open(void *arg, pctx_errfn_t *errfn)
{
	return capture_root(arg, errfn, "processes");
}

/* Is it a handle?  If not, sets errno to EINVAL. */
static bool check(const pctx_t *pctx)
{
	if (pctxi_proc_is_known(pctx))
		return true;
	errno = EINVAL;
	return false;
}

/* Does this thread own the handle, without having called pctx_run() on it? */
static bool can_run(const struct pctx *ctx)
{
	return ctx->state == PCTXI_PROC_HELD && ctx->loop->owner == (pid_t)_lwp_self();
}

static struct pctx *add_process(pctx_t *pctx, pid_t pid, bool may_be_gone)
{
	struct pctx *ctx = pctxi_proc_new(pctx->loop, pid, PCTXI_ADDED, &pctx->handlers);
	int saved;

	if (ctx == NULL) {
		pctxi_error(pctx->handlers.errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s",
			    (int)pid, strerror(ENOMEM));
		errno = ENOMEM;
		return NULL;
	}
	ctx->may_be_gone = may_be_gone;
	if (pctxi_attach(ctx) == 0)
		return ctx;
	saved = errno;
	/* Keep the handle until it is freed below, even if the process has exited. */
	ctx->origin = PCTXI_CAPTURED;
	pctxi_detach(ctx);
	pctxi_detach_wait(ctx);
	pctxi_proc_free(ctx);
	errno = saved;
	return NULL;
}

/* Can processes be added to the handle? */
static bool can_add(const struct pctx *ctx)
{
	if (check(ctx) && can_run(ctx) && !ctx->loop->running)
		return true;
	errno = EINVAL;
	return false;
}

pctx_t *pctx_add(pctx_t *pctx, pid_t pid)
{
	struct pctx *ctx;

	if (!can_add(pctx))
		return NULL;
	TAILQ_FOREACH(ctx, &pctx->loop->procs, link) {
		if (pid > 0 && ctx->pid == pid && ctx->state == PCTXI_PROC_HELD)
			return ctx;
	}
	return add_process(pctx, pid, false);
}

pctx_t *pctx_add_found(pctx_t *pctx, pid_t pid)
{
	return can_add(pctx) ? add_process(pctx, pid, true) : NULL;
}

int pctx_set_events(pctx_t *pctx, ...)
{
	struct pctxi_handlers *h;
	pctx_event_t event;
	va_list ap;
	int err = 0;

	if (!check(pctx))
		return -1;
	h = &pctx->handlers;
	va_start(ap, pctx);
	while (err == 0 && (event = va_arg(ap, pctx_event_t)) != PCTX_NULL_EVENT) {
		switch (event) {
		case PCTX_SYSC_EXEC_EVENT:
			h->exec = va_arg(ap, pctx_sysc_execfn_t *);
			break;
		case PCTX_SYSC_FORK_EVENT:
			h->fork = va_arg(ap, pctx_sysc_forkfn_t *);
			break;
		case PCTX_SYSC_EXIT_EVENT:
			h->exit = va_arg(ap, pctx_sysc_exitfn_t *);
			break;
		case PCTX_SYSC_LWP_CREATE_EVENT:
			h->lwp_create = va_arg(ap, pctx_sysc_lwp_createfn_t *);
			break;
		case PCTX_INIT_LWP_EVENT:
			h->init_lwp = va_arg(ap, pctx_init_lwpfn_t *);
			break;
		case PCTX_FINI_LWP_EVENT:
			h->fini_lwp = va_arg(ap, pctx_fini_lwpfn_t *);
			break;
		case PCTX_SYSC_LWP_EXIT_EVENT:
			h->lwp_exit = va_arg(ap, pctx_sysc_lwp_exitfn_t *);
			break;
		case PCTX_IDLE_EVENT:
			h->idle = va_arg(ap, pctx_idlefn_t *);
			break;
		case PCTX_MAPPED_EVENT:
			h->mapped = va_arg(ap, pctx_mappedfn_t *);
			break;
		case PCTX_LOST_EVENT:
			h->lost = va_arg(ap, pctx_lostfn_t *);
			break;
		case PCTX_ENDING_EVENT:
			h->ending = va_arg(ap, pctx_endingfn_t *);
			break;
		case PCTX_CHILD_EVENT:
			h->child = va_arg(ap, pctx_childfn_t *);
			break;
		case PCTX_NULL_EVENT:
		default:
			pctxi_error(h->errfn, PCTXI_FN_SET_EVENTS, "unknown event %d", (int)event);
			err = EINVAL;
			break;
		}
	}
	va_end(ap);
	return err == 0 ? 0 : pctxi_errno(err);
}

int pctx_run(pctx_t *pctx, uint_t msec, uint_t nsamples, int (*tick)(pctx_t *, pid_t, id_t, void *))
{
	struct pctxi_loop *loop;
	struct pctx *ctx;

	if (!check(pctx))
		return -1;
	loop = pctx->loop;
	if (!can_run(pctx)) {
		pctxi_error(pctx->handlers.errfn, PCTXI_FN_RUN,
			    pctx->state != PCTXI_PROC_HELD ? "process %d is no longer controlled"
							   : "process %d belongs to another thread",
			    (int)pctx->pid);
		return pctxi_errno(EINVAL);
	}
	if (loop->running) {
		/* The handlers get its LWP at the first stop. */
		pctx->handlers.tick = tick;
		pctx->state = PCTXI_PROC_FOLLOWED;
		return 0;
	}
	loop->interval_ns = (int64_t)msec * PCTXI_MSEC;
	loop->samples_left = msec != 0 ? nsamples : 0;
	TAILQ_FOREACH(ctx, &loop->procs, link) {
		ctx->handlers.tick = tick;
		pctxi_follow(ctx);
	}
	return pctxi_loop_run(loop);
}

/*
 * The signal ends the loop's sleep, now or when it begins.  A single one suffices: an idle
 * handler that calls this repeatedly, after the end of control, must not wake itself.
 */
void pctx_terminate(pctx_t *pctx)
{
	int saved = errno;

	if (!pctxi_proc_is_known(pctx) || pctx->loop->terminate)
		return;
	pctx->loop->terminate = 1;
	if (syscall(SYS_tgkill, getpid(), pctx->loop->owner, SIGCHLD) == -1)
		kill(getpid(), SIGCHLD);
	errno = saved;
}

/* ---- detaching ------------------------------------------------------------------- */

int pctx_wait(pctx_t *pctx, int *status)
{
	if (!check(pctx))
		return -1;
	if (pctx->origin != PCTXI_CREATED)
		return pctxi_errno(ECHILD);
	pctxi_detach_all(pctx->loop);
	if (pctx->state != PCTXI_PROC_ENDED && pctxi_loop_wait(pctx->loop) == -1)
		return -1;
	*status = pctx->status;
	return 0;
}

void pctx_release(pctx_t *pctx)
{
	struct pctxi_loop *loop;

	if (!check(pctx))
		return;
	loop = pctx->loop;
	pctxi_detach_all(loop);
	pctxi_loop_free(loop);
}

void pctx_abandon(pctx_t *pctx)
{
	struct pctxi_loop *loop;

	if (!check(pctx))
		return;
	loop = pctx->loop;
	pctxi_detach_now(loop);
	pctxi_loop_free(loop);
}

/* ---- queries, and pointers of the caller -------------------------------------------- */

pid_t pctx_pid(const pctx_t *pctx)
{
	return check(pctx) ? pctx->pid : -1;
}

pctx_t *pctx_parent(const pctx_t *pctx)
{
	return check(pctx) ? pctx->parent : NULL;
}

int pctx_stopped(const pctx_t *pctx)
{
	const struct pctxi_lwp *lwp;

	if (!check(pctx))
		return 0;
	lwp = pctxi_lwp_by_id(pctx, 1);
	return pctx->state == PCTXI_PROC_PAUSED ||
	       (lwp != NULL && lwp->state == PCTXI_LWP_LISTENING);
}

/* NULL and errno: EINVAL, ESRCH. */
static struct pctxi_lwp *find_lwp(const pctx_t *pctx, id_t id)
{
	struct pctxi_lwp *lwp;

	if (!check(pctx))
		return NULL;
	lwp = pctxi_lwp_by_id(pctx, id);
	if (lwp == NULL)
		errno = ESRCH;
	return lwp;
}

pid_t pctx_lwp_tid(const pctx_t *pctx, id_t id)
{
	const struct pctxi_lwp *lwp = find_lwp(pctx, id);

	return lwp != NULL ? lwp->tid : -1;
}

void pctx_set_data(pctx_t *pctx, void *data)
{
	if (check(pctx))
		pctx->data = data;
}

void *pctx_data(const pctx_t *pctx)
{
	return check(pctx) ? pctx->data : NULL;
}

int pctx_lwp_set_data(pctx_t *pctx, id_t id, void *data)
{
	struct pctxi_lwp *lwp = find_lwp(pctx, id);

	if (lwp == NULL)
		return -1;
	lwp->data = data;
	return 0;
}

void *pctx_lwp_data(const pctx_t *pctx, id_t id)
{
	const struct pctxi_lwp *lwp = find_lwp(pctx, id);

	return lwp != NULL ? lwp->data : NULL;
}

int pctx_lwp_answer(pctx_t *pctx, id_t id, pctx_answerfn_t *answer, void *arg,
		    void (*release)(void *arg))
{
	struct pctxi_answerer answerer = {0};
	struct pctxi_lwp *lwp = find_lwp(pctx, id);

	if (lwp == NULL)
		return -1;
	if (answer != NULL)
		answerer = (struct pctxi_answerer){answer, arg, release};
	pctxi_lwp_answerer(lwp, answerer);
	return 0;
}
