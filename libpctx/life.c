/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * life.c - what happens to LWPs and processes: the handlers are called, and the LWP
 * goes on.
 *
 * Final values of counters can be read after the death of their LWP, so no LWP
 * is ever stopped at its exit: birth, exec, and the signals that the kernel shows
 * every tracer are the only stops.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

const unsigned long pctxi_ptrace_options =
	PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PCTXI_TRACE_FORKS;

static void left_if_empty(struct pctx *ctx)
{
	if (!RB_EMPTY(&ctx->lwps))
		return;
	ctx->state = PCTX_LEFT;
	if (ctx->adopted && !ctx->forgettable) {
		ctx->forgettable = true;
		LIST_INSERT_HEAD(&ctx->loop->left, ctx, left);
	}
}

/*
 * Nobody wants to hear of children: let them be born without us.  New threads get
 * this from their maker.
 */
static void forget_forks(struct pctxi_lwp *lwp)
{
	unsigned long options = pctxi_ptrace_options & ~PCTXI_TRACE_FORKS;

	if (lwp->no_forks || lwp->ctx->fork != NULL)
		return;
	if (lwp->ctx->loop->root->created)
		options |= PTRACE_O_EXITKILL;
	lwp->no_forks = ptrace(PTRACE_SETOPTIONS, lwp->tid, NULL, options) == 0;
}

/*
 * Lets a stopped LWP go on: with the signal `sig`, or detached when its process
 * is leaving.  ESRCH means that it was killed in the stop; its death is reported
 * next.
 */
static void go_on(struct pctxi_lwp *lwp, int sig)
{
	struct pctx *ctx = lwp->ctx;
	void *data = (void *)(long)sig;

	if (ctx->state == PCTX_LEAVING) {
		if (ptrace(PTRACE_DETACH, lwp->tid, NULL, data) == 0) {
			pctxi_lwp_free(ctx->loop, lwp);
			left_if_empty(ctx);
			return;
		}
		lwp->state = LWP_RUNNING;
		return;
	}
	forget_forks(lwp);
	if (lwp->group_stop && ptrace(PTRACE_LISTEN, lwp->tid, NULL, NULL) == 0) {
		lwp->state = LWP_LISTENING;
		return;
	}
	lwp->state = LWP_RUNNING;
	ptrace(ctx->linking ? PTRACE_SYSCALL : PTRACE_CONT, lwp->tid, NULL, data);
}

/* Calls the handlers of an LWP's birth; it has not run yet. */
static void begin(struct pctxi_lwp *lwp, bool thread)
{
	struct pctx *ctx = lwp->ctx;
	int rc = 0;

	lwp->begun = true;
	if (ctx->init_lwp != NULL)
		rc = ctx->init_lwp(ctx, ctx->pid, lwp->id, ctx->arg);
	if (rc == 0 && thread && ctx->lwp_create != NULL)
		rc = ctx->lwp_create(ctx, ctx->pid, lwp->id, ctx->arg);
	if (rc != 0)
		pctxi_leave(ctx);
}

/* An LWP of a known process is in its first stop. */
static void first_stop(struct pctxi_lwp *lwp)
{
	lwp->state = LWP_STOPPED;
	if (lwp->ctx->state == PCTX_FOLLOWED)
		begin(lwp, lwp->id != 1);
	go_on(lwp, 0);
}

void pctxi_follow(struct pctx *ctx)
{
	struct pctxi_lwp *lwp, *next;

	ctx->state = PCTX_FOLLOWED;
	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = next) {
		next = pctxi_lwp_next(lwp);
		if (ctx->state == PCTX_FOLLOWED)
			begin(lwp, false);
		if (lwp->state == LWP_STOPPED)
			go_on(lwp, 0);
	}
	left_if_empty(ctx); /* the handle that pctx_open made has no process */
}

void pctxi_leave(struct pctx *ctx)
{
	struct pctxi_lwp *lwp, *next;

	if (ctx->state == PCTX_LEFT || ctx->state == PCTX_LEAVING)
		return;
	bool held = ctx->state == PCTX_HELD;

	ctx->state = PCTX_LEAVING;
	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = next) {
		next = pctxi_lwp_next(lwp);
		if (lwp->tid == ctx->pid && next != NULL && pctxi_is_zombie(lwp->tid)) {
			/*
			 * A leader that ended before its LWPs never stops again,
			 * nor can it be detached; the kernel does that at our exit.
			 */
			pctxi_lwp_free(ctx->loop, lwp);
		} else if (lwp->state == LWP_RUNNING || lwp->state == LWP_LISTENING) {
			ptrace(PTRACE_INTERRUPT, lwp->tid, NULL, NULL);
		} else if (held && lwp->state == LWP_STOPPED) {
			go_on(lwp, 0);
		}
	}
	left_if_empty(ctx);
}

/* Calls fini_lwp for an LWP that runs no more. */
static void finish(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;

	if (lwp->begun && ctx->fini_lwp != NULL)
		ctx->fini_lwp(ctx, ctx->pid, lwp->id, ctx->arg);
}

static void finish_all(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;

	for (lwp = pctxi_lwp_first(ctx); lwp != NULL; lwp = pctxi_lwp_next(lwp))
		finish(lwp);
}

/* The process has ended: the last word to the handlers. */
static void ended(struct pctx *ctx, int status)
{
	struct pctxi_loop *loop = ctx->loop;

	ctx->ended = true;
	ctx->status = status;
	loop->last = *ctx;
	if (ctx->state == PCTX_FOLLOWED) {
		finish_all(ctx);
		if (ctx->exit != NULL)
			ctx->exit(ctx, ctx->pid, 1, status, ctx->arg);
	}
	ctx->state = PCTX_LEFT;
	while (!RB_EMPTY(&ctx->lwps))
		pctxi_lwp_free(loop, pctxi_lwp_first(ctx));
	if (ctx->adopted)
		pctxi_proc_free(ctx);
}

static void died(struct pctxi_lwp *lwp, int status)
{
	struct pctx *ctx = lwp->ctx;
	struct pctxi_loop *loop;
	int rc = 0;

	if (lwp->state == LWP_EARLY) {
		lwp->state = LWP_GONE;
		lwp->status = status;
	}
	if (ctx == NULL)
		return;
	loop = ctx->loop;
	/* Killed before its first stop: it lived, though it never ran. */
	if (!lwp->begun && ctx->state == PCTX_FOLLOWED)
		begin(lwp, lwp->id != 1);
	if (lwp->tid == ctx->pid) {
		ended(ctx, status);
		return;
	}
	if (ctx->state == PCTX_FOLLOWED) {
		finish(lwp);
		if (ctx->lwp_exit != NULL)
			rc = ctx->lwp_exit(ctx, ctx->pid, lwp->id, ctx->arg);
	}
	pctxi_lwp_free(loop, lwp);
	if (RB_EMPTY(&ctx->lwps)) /* its leader was dead when we came */
		ended(ctx, pctxi_exit_status(ctx->pid, status != 0 ? status : ctx->status));
	else if (rc != 0)
		pctxi_leave(ctx);
}

struct pctx *pctxi_child_of(struct pctx *parent, pid_t pid)
{
	struct pctx *ctx = pctxi_proc_new(parent->loop, pid);

	if (ctx == NULL)
		return NULL;
	ctx->adopted = true;
	ctx->arg = parent->arg;
	ctx->errfn = parent->errfn;
	ctx->exec = parent->exec;
	ctx->fork = parent->fork;
	ctx->exit = parent->exit;
	ctx->lwp_create = parent->lwp_create;
	ctx->init_lwp = parent->init_lwp;
	ctx->fini_lwp = parent->fini_lwp;
	ctx->lwp_exit = parent->lwp_exit;
	ctx->call = parent->call;
	ctx->mapped = parent->mapped;
	return ctx;
}

static bool exists(pid_t tgid, pid_t tid)
{
	return syscall(SYS_tgkill, tgid, tid, 0) == 0 || errno == EPERM;
}

/*
 * `lwp` gets its process: that of its maker, or one of its own.  Whatever it
 * reported before is due now.
 */
void pctxi_claim(struct pctxi_lwp *lwp, const struct pctxi_lwp *maker, bool thread)
{
	enum pctxi_lwp_state state = lwp->state;
	struct pctx *parent = maker->ctx;
	struct pctx *ctx = thread ? parent : pctxi_child_of(parent, lwp->tid);

	if (ctx == NULL) {
		pctxi_error(parent->errfn, PCTXI_FN_RUN, "cannot follow process %d: %s",
			    (int)lwp->tid, strerror(ENOMEM));
		ptrace(PTRACE_DETACH, lwp->tid, NULL, NULL);
		pctxi_lwp_free(parent->loop, lwp);
		return;
	}
	pctxi_lwp_join(lwp, ctx);
	lwp->no_forks = thread && maker->no_forks;
	if (ctx->state == PCTX_LEFT) /* its last LWP left just now */
		ctx->state = PCTX_LEAVING;
	if (!thread) {
		if (parent->state == PCTX_FOLLOWED && parent->fork != NULL)
			parent->fork(ctx, parent->pid, maker->id, ctx->pid, ctx->arg);
		if (ctx->state == PCTX_HELD)
			ctx->state = PCTX_LEAVING;
	}
	if (state == LWP_EARLY)
		first_stop(lwp);
	else if (state == LWP_GONE)
		died(lwp, lwp->status);
}

/* Is it under control?  A zombie is not that was reported, and is its parent's now. */
static bool is_ours(const struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_task task;

	return pctxi_task_read(tid, &task) == 0 && task.tracer == loop->owner;
}

/* `maker` made LWP `tid`: a thread, by the kind of its birth, or a process. */
static void born(struct pctxi_loop *loop, const struct pctxi_lwp *maker, pid_t tid, bool thread)
{
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, tid);
	/*
	 * Cheaper than /proc, and clone(2) makes every mixture of flags possible.  What it
	 * most likely is comes first.
	 */
	bool is_process = !thread && exists(tid, tid);
	bool is_thread = !is_process && exists(maker->ctx->pid, tid);
	bool alive = is_process || is_thread || (thread && exists(tid, tid));

	if (lwp != NULL && lwp->ctx != NULL)
		return; /* an orphan, and claimed */
	if (lwp != NULL && lwp->state == LWP_GONE && alive && is_ours(loop, tid)) {
		pctxi_lwp_free(loop, lwp); /* somebody else, who had the same id */
		lwp = NULL;
	}
	if (lwp == NULL) {
		if (!alive || (loop->took_in && !is_ours(loop, tid)))
			return; /* an orphan that was claimed and has died since */
		lwp = pctxi_lwp_new(loop, tid, LWP_BORN);
	}
	if (lwp == NULL)
		pctxi_error(maker->ctx->errfn, PCTXI_FN_RUN, "cannot follow LWP %d: %s", (int)tid,
			    strerror(ENOMEM));
	else
		pctxi_claim(lwp, maker, alive ? is_thread : thread);
}

/* `lwp` made another LWP. */
static void birth(struct pctxi_lwp *lwp, bool thread)
{
	struct pctxi_loop *loop = lwp->ctx->loop;
	struct pctxi_lwp maker = *lwp;
	unsigned long tid;
	/* Fails when it was killed in this stop: see orphan.c. */
	bool known = ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &tid) == 0;

	go_on(lwp, 0);
	if (known)
		born(loop, &maker, (pid_t)tid, thread);
}

/* The command line, its arguments separated by spaces; cut where `buf` ends. */
static void read_cmdline(pid_t pid, char *buf, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	if (n <= 0)
		n = 0;
	else if (buf[n - 1] == '\0')
		n--; /* the last argument's end */
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\0')
			buf[i] = ' ';
	}
	buf[n] = '\0';
}

/* All LWPs but the one that called exec are gone; it has the leader's thread id now. */
static void exec(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	struct pctxi_lwp *caller;
	unsigned long former = (unsigned long)lwp->tid;
	char cmd[4096];
	bool alone = pctxi_lwp_next(pctxi_lwp_first(ctx)) == NULL;
	int rc = 1;

	ctx->cut = ctx->cut || !alone;
	if (!LIST_EMPTY(&ctx->loop->early))
		pctxi_orphans(lwp, false);
	if (!alone)
		ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &former);
	if (ctx->state == PCTX_FOLLOWED) {
		caller = pctxi_lwp_find(ctx->loop, (pid_t)former);
		finish_all(ctx);
		if (ctx->exec != NULL) {
			cmd[0] = '\0';
			if (ctx->loop->own_proc)
				read_cmdline(ctx->pid, cmd, sizeof(cmd));
			rc = ctx->exec(ctx, ctx->pid, caller != NULL ? caller->id : lwp->id, cmd,
				       ctx->arg);
		}
	}
	pctxi_lwp_sole(lwp);
	ctx->linking = false;
	if (rc != 0)
		pctxi_leave(ctx);
	else if (ctx->state == PCTX_FOLLOWED)
		begin(lwp, false);
	go_on(lwp, 0);
}

/*
 * A child of ours, which we let go, may have itself traced by its parent (PTRACE_TRACEME),
 * as some do so that nobody else can.  Then it stops at each signal, and at its exec with a
 * SIGTRAP, as nobody does who is born under control.
 */
bool pctxi_disown(pid_t tid, int status)
{
	long sig = WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;

	return ptrace(PTRACE_DETACH, tid, NULL, (void *)sig) == 0;
}

/* An LWP that nobody named yet reports something. */
static void stranger(struct pctxi_loop *loop, pid_t tid, const struct pctxi_stop *stop, int status)
{
	struct pctxi_lwp *lwp;

	if (stop->what == PCTXI_DIED) {
		/* Either a child that we let go, or one that was never ours. */
		if (loop->root->created && tid == loop->root->pid) {
			loop->root->ended = true;
			loop->root->status = status;
		}
		return;
	}
	if (stop->what == PCTXI_SIGNAL && pctxi_disown(tid, status))
		return;
	lwp = pctxi_lwp_new(loop, tid, LWP_EARLY);
	if (lwp == NULL) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	lwp->group_stop = stop->what == PCTXI_GROUP_STOP;
	lwp->since_ns = pctxi_now_ns();
	lwp->due_ns = lwp->since_ns + PCTXI_EARLY_NS;
}

/* An LWP took over the id of a leader that we never had (it was dead when we came). */
static struct pctxi_lwp *renamed(struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_lwp *lwp = NULL;
	unsigned long former;

	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former) == 0)
		lwp = pctxi_lwp_find(loop, (pid_t)former);
	if (lwp != NULL)
		pctxi_lwp_rename(loop, lwp, tid);
	return lwp;
}

void pctxi_dispatch(struct pctxi_loop *loop, pid_t tid, int status)
{
	struct pctxi_stop stop = pctxi_stop_decode(status);
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, tid);

	if (lwp != NULL && lwp->state == LWP_GONE) {
		pctxi_lwp_free(loop, lwp); /* its id was given to somebody else */
		lwp = NULL;
	}
	if (lwp == NULL && stop.what == PCTXI_EXEC)
		lwp = renamed(loop, tid);
	if (lwp == NULL || lwp->ctx == NULL) {
		if (lwp == NULL)
			stranger(loop, tid, &stop, status);
		else if (stop.what == PCTXI_DIED)
			died(lwp, status);
		return;
	}
	if (stop.what == PCTXI_DIED) {
		if (lwp->tid == lwp->ctx->pid && !LIST_EMPTY(&loop->early))
			pctxi_orphans(lwp, true);
		died(lwp, status);
		return;
	}
	lwp->group_stop = stop.what == PCTXI_GROUP_STOP;
	if (lwp->state == LWP_BORN) {
		first_stop(lwp);
		return;
	}
	lwp->state = LWP_STOPPED;
	switch (stop.what) {
	case PCTXI_BIRTH:
		birth(lwp, stop.thread);
		break;
	case PCTXI_EXEC:
		exec(lwp);
		break;
	case PCTXI_SYSCALL:
		pctxi_syscall_stop(lwp);
		go_on(lwp, 0);
		break;
	case PCTXI_SIGNAL:
		go_on(lwp, pctxi_call(lwp, stop.sig) ? 0 : stop.sig);
		break;
	case PCTXI_GROUP_STOP:
	case PCTXI_HELD:
	case PCTXI_DIED:
		go_on(lwp, stop.sig);
		break;
	}
}
