/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * attach.c - attach to a running process, or tell why not.
 */
#include "base.h"
#include "control.h"
#include "procfs.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_TRIES 1000 /* to find an LWP of a process that does nothing but execute */

static int refuse_process(pid_t pid, pctx_errfn_t *errfn, int err, const char *reason)
{
	pctxi_error(errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s", (int)pid, reason);
	errno = err;
	return -1;
}

static int refuse(const struct pctx *ctx, int err, const char *reason)
{
	return refuse_process(ctx->pid, ctx->handlers.errfn, err, reason);
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

/* Nothing can be read of it in /proc, with this errno. */
static int refuse_unknown(pid_t pid, pctx_errfn_t *errfn, int err)
{
	if (err != ENOENT && err != ESRCH)
		return refuse_process(pid, errfn, err, strerror(err));
	return refuse_process(pid, errfn, ESRCH,
			      kill(pid, 0) == -1 && errno == ESRCH
				      ? "no such process"
				      : "/proc hides it (hidepid); root may track it");
}

static int refuse_dead(pid_t pid, pctx_errfn_t *errfn)
{
	return refuse_process(pid, errfn, ESRCH, "it has ended (a zombie)");
}

static int refuse_kthread(pid_t pid, pctx_errfn_t *errfn)
{
	return refuse_process(pid, errfn, EINVAL, "it is a kernel thread");
}

/* Tells why PTRACE_SEIZE of the process failed with `err`. */
static int refuse_seize(const struct pctx *ctx, int err)
{
	struct pctxi_task task;
	char reason[96];

	if (pctxi_task_read(ctx->pid, &task) == -1)
		return refuse_unknown(ctx->pid, ctx->handlers.errfn, errno);
	if (err == ESRCH)
		return refuse_unknown(ctx->pid, ctx->handlers.errfn, err);
	if (pctxi_task_is_dead(&task))
		return refuse_dead(ctx->pid, ctx->handlers.errfn);
	if (pctxi_is_kthread(ctx->pid))
		return refuse_kthread(ctx->pid, ctx->handlers.errfn);
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
		return refuse(ctx, EPERM,
			      "kernel.yama.ptrace_scope forbids it; root may, and after sysctl "
			      "kernel.yama.ptrace_scope=0 everybody on own processes");
	return refuse(ctx, EPERM,
		      geteuid() == 0
			      ? "not permitted: this container or a security module forbids it"
			      : "not permitted: it runs a set-id or unreadable program or made "
				"itself undumpable (prctl(2)), which root may track, or this "
				"container forbids ptrace(2)");
}

/* What speaks against any way to track it: 0, or -1 and errno. */
static int find_process(pid_t pid, pctx_errfn_t *errfn, bool own_proc, struct pctxi_task *task)
{
	char reason[64];

	if (pid <= 0)
		return refuse_process(pid, errfn, EINVAL, "process ids are greater than 0");
	if (pid == getpid())
		return refuse_process(pid, errfn, EINVAL, "that is the tracking program itself");
	if (!own_proc)
		return refuse_process(
			pid, errfn, ENOENT,
			"/proc is not mounted, or it is that of another PID namespace");
	if (pctxi_task_read(pid, task) == -1)
		return refuse_unknown(pid, errfn, errno);
	if (task->tgid != pid) {
		snprintf(reason, sizeof(reason), "it is an LWP of process %d; track that",
			 (int)task->tgid);
		return refuse_process(pid, errfn, ESRCH, reason);
	}
	return 0;
}

/* Looks once; `gone`: some LWP was listed and is there no more. */
static bool find_living_lwp(pid_t pid, bool *gone)
{
	bool living = false;
	struct dirent *de;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && !living && (de = readdir(dir)) != NULL) {
		struct pctxi_task task;
		const char *bad;
		pid_t tid = (pid_t)strtonum(de->d_name, 1, INT_MAX, &bad);

		if (bad != NULL)
			continue;
		if (pctxi_task_read(tid, &task) == -1)
			*gone = true;
		else
			living = !pctxi_task_is_dead(&task);
	}
	if (dir != NULL)
		closedir(dir);
	return living;
}

/* The leader may be dead, and others alive; one that executes takes the leader's id. */
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
	struct pctxi_task task;

	if (errfn == NULL)
		errfn = pctxi_default_errfn;
	if (find_process(pid, errfn, pctxi_own_proc(), &task) == -1)
		return -1;
	if (pctxi_is_kthread(pid))
		return refuse_kthread(pid, errfn);
	return has_living_lwp(pid) ? 0 : refuse_dead(pid, errfn);
}

/* What can be told without trying: 0, or -1 and errno. */
static int precheck(const struct pctx *ctx)
{
	struct pctxi_task task;

	if (find_process(ctx->pid, ctx->handlers.errfn, ctx->loop->own_proc, &task) == -1)
		return -1;
	if (task.tracer == ctx->loop->owner && !pctxi_task_is_dead(&task))
		return refuse_traced(ctx, task.tracer);
	if (pctxi_is_stopped_and_frozen(ctx->pid, &task))
		return refuse(ctx, EBUSY,
			      "it is stopped, and its cgroup is frozen: thaw that first");
	return 0;
}

int pctxi_attach(struct pctx *ctx)
{
	if (precheck(ctx) == -1)
		return -1;
	if (pctxi_seize_all(ctx) == -1)
		return refuse_seize(ctx, errno);
	return 0;
}
