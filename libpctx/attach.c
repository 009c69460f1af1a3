/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* attach.c - attaches to a running process, or explains why that fails. */
#include "base.h"
#include "control.h"
#include "procfs.h"
#include "untraced.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_TRIES 1000 /* to find an LWP of a process that executes programs without end */

static int refuse(const struct pctx *ctx, int err, const char *reason)
{
	if (err != ESRCH || !ctx->may_be_gone)
		pctxi_error(ctx->handlers.errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s",
			    (int)ctx->pid, reason);
	return pctxi_errno(err);
}

static int refuse_traced(const struct pctx *ctx, pid_t tracer)
{
	struct pctxi_task task;
	char reason[64];

	if (tracer == ctx->loop->owner ||
	    (pctxi_task_read(tracer, &task) == 0 && task.tgid == getpid()))
		return refuse(ctx, EBUSY, "this program traces it already");
	snprintf(reason, sizeof(reason), "it is already traced, by process %d", (int)tracer);
	return refuse(ctx, EBUSY, reason);
}

/* Refuses a process whose entry in /proc cannot be read, for the errno `err`. */
static int refuse_unknown(const struct pctx *ctx, int err)
{
	if (err != ENOENT && err != ESRCH)
		return refuse(ctx, err, strerror(err));
	return refuse(ctx, ESRCH,
		      kill(ctx->pid, 0) == -1 && errno == ESRCH
			      ? "no such process"
			      : "/proc hides it (hidepid); root may track it");
}

static int refuse_dead(const struct pctx *ctx)
{
	return refuse(ctx, ESRCH, "it has ended");
}

static int refuse_kthread(const struct pctx *ctx)
{
	return refuse(ctx, EINVAL, "it is a kernel thread");
}

/* Explains why PTRACE_SEIZE of the process failed with `err`. */
static int refuse_seize(const struct pctx *ctx, int err)
{
	struct pctxi_task task;
	char reason[96];

	if (pctxi_task_read(ctx->pid, &task) == -1)
		return refuse_unknown(ctx, errno);
	if (err == ESRCH)
		return refuse_unknown(ctx, err);
	if (pctxi_task_is_dead(&task))
		return refuse_dead(ctx);
	if (pctxi_is_kthread(ctx->pid))
		return refuse_kthread(ctx);
	if (task.tracer != 0 && task.tracer != ctx->loop->owner)
		return refuse_traced(ctx, task.tracer);
	if (err == EAGAIN)
		return refuse(ctx, err, "it executes one program after the other; try again");
	if (err != EPERM && err != EACCES && err != ENOSYS)
		return refuse(ctx, err, strerror(err));
	if (task.uid != getuid()) {
		snprintf(reason, sizeof(reason),
			 "it belongs to user %u; root or CAP_SYS_PTRACE may track it",
			 (unsigned)task.uid);
		return refuse(ctx, EPERM, reason);
	}
	if (pctxi_yama_scope() > 0)
		return refuse(
			ctx, EPERM,
			"kernel.yama.ptrace_scope forbids it; root may track it, and any user "
			"own processes after: sysctl kernel.yama.ptrace_scope=0");
	return refuse(ctx, EPERM,
		      geteuid() == 0
			      ? "not permitted: this container or a security module forbids it"
			      : "not permitted: it runs a set-id or unreadable program or made "
				"itself undumpable (prctl(2)), which root may track, or this "
				"container forbids ptrace(2)");
}

/* Checks that the process can be tracked, by whichever means.  0, or -1 and errno. */
static int check_process(const struct pctx *ctx, struct pctxi_task *task)
{
	char reason[64];

	if (ctx->pid <= 0)
		return refuse(ctx, EINVAL, "process ids are greater than 0");
	if (ctx->pid == getpid())
		return refuse(ctx, EINVAL, "that is the tracking program itself");
	if (!ctx->loop->own_proc)
		return refuse(ctx, ENOENT,
			      "/proc is not mounted, or it is that of another PID namespace");
	if (pctxi_task_read(ctx->pid, task) == -1)
		return refuse_unknown(ctx, errno);
	if (task->tgid == 0) /* its parent is reaping it */
		return refuse_dead(ctx);
	if (task->tgid != ctx->pid) {
		snprintf(reason, sizeof(reason), "it is an LWP of process %d; track that",
			 (int)task->tgid);
		return refuse(ctx, ESRCH, reason);
	}
	return 0;
}

/* Is an LWP alive?  Sets `gone` if it no longer exists. */
static bool is_living(pid_t tid, bool *gone)
{
	struct pctxi_task task;

	if (pctxi_task_read(tid, &task) == 0)
		return !pctxi_task_is_dead(&task) && !pctxi_is_exiting(tid);
	*gone = true;
	return false;
}

/* Searches once.  Sets `gone` if a listed LWP no longer exists. */
static bool find_living_lwp(pid_t pid, bool *gone)
{
	DIR *dir = pctxi_open_tasks(pid);
	bool living = false;
	pid_t tid;

	while (!living && (tid = pctxi_next_task(dir)) != 0)
		living = is_living(tid, gone);
	if (dir != NULL)
		closedir(dir);
	/* By an exec, an LWP may have taken over the leader's id, which was listed before. */
	return living || is_living(pid, gone);
}

/* Does the process have a living LWP?  Its leader may have exited, and an exec changes ids. */
static bool has_living_lwp(pid_t pid)
{
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		bool gone = false;

		if (find_living_lwp(pid, &gone))
			return true;
		if (!gone)
			return false;
	}
	return false;
}

int pctx_exists(pid_t pid, pctx_errfn_t *errfn)
{
	/* Set only the fields that the checks read. */
	struct pctxi_loop loop = {.own_proc = pctxi_own_proc()};
	const struct pctx ctx = {
		.loop = &loop,
		.pid = pid,
		.handlers.errfn = errfn != NULL ? errfn : pctxi_default_errfn,
	};
	struct pctxi_task task;

	if (check_process(&ctx, &task) == -1)
		return -1;
	if (pctxi_is_kthread(pid))
		return refuse_kthread(&ctx);
	return has_living_lwp(pid) ? 0 : refuse_dead(&ctx);
}

int pctxi_attach(struct pctx *ctx)
{
	struct pctxi_task task;

	if (check_process(ctx, &task) == -1)
		return -1;
	if (task.tracer == ctx->loop->owner && !pctxi_task_is_dead(&task))
		return refuse_traced(ctx, task.tracer);
	if (pctxi_is_stopped_and_frozen(ctx->pid, &task))
		return refuse(ctx, EBUSY,
			      "it is stopped, and its cgroup is frozen: thaw that first");
	return pctxi_seize_all(ctx) == 0 ? 0 : refuse_seize(ctx, errno);
}
