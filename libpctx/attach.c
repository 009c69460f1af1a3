/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* attach.c - attaches to a running process, or explains why that fails. */
#include "base.h"
#include "control.h"
#include "procfs.h"
#include "untraced.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_TRIES 1000 /* to find an LWP of a process that executes programs without end */

/* The process to be tracked. */
struct target {
	pid_t pid;
	pctx_errfn_t *errfn;
	bool own_proc;	  /* /proc shows our PID namespace */
	bool may_be_gone; /* no error is reported if it has exited */
};

static struct target target_of(const struct pctx *ctx)
{
	return (struct target){ctx->pid, ctx->handlers.errfn, ctx->loop->own_proc,
			       ctx->may_be_gone};
}

static int refuse(const struct target *target, int err, const char *reason)
{
	if (err != ESRCH || !target->may_be_gone)
		pctxi_error(target->errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s",
			    (int)target->pid, reason);
	errno = err;
	return -1;
}

static int refuse_traced(const struct target *target, const struct pctx *ctx, pid_t tracer)
{
	struct pctxi_task task;
	char reason[64];

	if (tracer == ctx->loop->owner ||
	    (pctxi_task_read(tracer, &task) == 0 && task.tgid == getpid()))
		return refuse(target, EBUSY, "this program traces it already");
	snprintf(reason, sizeof(reason), "it is already traced, by process %d", (int)tracer);
	return refuse(target, EBUSY, reason);
}

/* Refuses a process that cannot be read in /proc, with this errno. */
static int refuse_unknown(const struct target *target, int err)
{
	if (err != ENOENT && err != ESRCH)
		return refuse(target, err, strerror(err));
	return refuse(target, ESRCH,
		      kill(target->pid, 0) == -1 && errno == ESRCH
			      ? "no such process"
			      : "/proc hides it (hidepid); root may track it");
}

static int refuse_dead(const struct target *target)
{
	return refuse(target, ESRCH, "it has ended");
}

static int refuse_kthread(const struct target *target)
{
	return refuse(target, EINVAL, "it is a kernel thread");
}

/* Explains why PTRACE_SEIZE of the process failed with `err`. */
static int refuse_seize(const struct pctx *ctx, int err)
{
	const struct target target = target_of(ctx);
	struct pctxi_task task;
	char reason[96];

	if (pctxi_task_read(ctx->pid, &task) == -1)
		return refuse_unknown(&target, errno);
	if (err == ESRCH)
		return refuse_unknown(&target, err);
	if (pctxi_task_is_dead(&task))
		return refuse_dead(&target);
	if (pctxi_is_kthread(ctx->pid))
		return refuse_kthread(&target);
	if (task.tracer != 0 && task.tracer != ctx->loop->owner)
		return refuse_traced(&target, ctx, task.tracer);
	if (err == EAGAIN)
		return refuse(&target, err, "it executes one program after the other; try again");
	if (err != EPERM && err != EACCES && err != ENOSYS)
		return refuse(&target, err, strerror(err));
	if (task.uid != getuid()) {
		snprintf(reason, sizeof(reason),
			 "it belongs to user %u; root or CAP_SYS_PTRACE may track it",
			 (unsigned)task.uid);
		return refuse(&target, EPERM, reason);
	}
	if (pctxi_yama_scope() > 0)
		return refuse(
			&target, EPERM,
			"kernel.yama.ptrace_scope forbids it; root may track it, and any user "
			"own processes after: sysctl kernel.yama.ptrace_scope=0");
	return refuse(&target, EPERM,
		      geteuid() == 0
			      ? "not permitted: this container or a security module forbids it"
			      : "not permitted: it runs a set-id or unreadable program or made "
				"itself undumpable (prctl(2)), which root may track, or this "
				"container forbids ptrace(2)");
}

/* Are there reasons that rule out any kind of tracking?  0: no; -1 and errno. */
static int find_process(const struct target *target, struct pctxi_task *task)
{
	char reason[64];

	if (target->pid <= 0)
		return refuse(target, EINVAL, "process ids are greater than 0");
	if (target->pid == getpid())
		return refuse(target, EINVAL, "that is the tracking program itself");
	if (!target->own_proc)
		return refuse(target, ENOENT,
			      "/proc is not mounted, or it is that of another PID namespace");
	if (pctxi_task_read(target->pid, task) == -1)
		return refuse_unknown(target, errno);
	if (task->tgid == 0) /* its parent is reaping it */
		return refuse_dead(target);
	if (task->tgid != target->pid) {
		snprintf(reason, sizeof(reason), "it is an LWP of process %d; track that",
			 (int)task->tgid);
		return refuse(target, ESRCH, reason);
	}
	return 0;
}

/* `gone`: it no longer exists. */
static bool is_living(pid_t tid, bool *gone)
{
	struct pctxi_task task;

	if (pctxi_task_read(tid, &task) == 0)
		return !pctxi_task_is_dead(&task) && !pctxi_is_exiting(tid);
	*gone = true;
	return false;
}

/* Searches once; `gone`: a listed LWP no longer exists. */
static bool find_living_lwp(pid_t pid, bool *gone)
{
	bool living = false;
	struct dirent *de;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && !living && (de = readdir(dir)) != NULL) {
		const char *bad;
		pid_t tid = (pid_t)strtonum(de->d_name, 1, INT_MAX, &bad);

		living = bad == NULL && is_living(tid, gone);
	}
	if (dir != NULL)
		closedir(dir);
	/* It may have taken over the id of the leader meanwhile, and is not listed otherwise. */
	return living || is_living(pid, gone);
}

/*
 * Has the process a living LWP?  Its leader may have exited; an LWP that executes takes its
 * id.
 */
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
	const struct target target = {pid, errfn != NULL ? errfn : pctxi_default_errfn,
				      pctxi_own_proc(), false};
	struct pctxi_task task;

	if (find_process(&target, &task) == -1)
		return -1;
	if (pctxi_is_kthread(pid))
		return refuse_kthread(&target);
	return has_living_lwp(pid) ? 0 : refuse_dead(&target);
}

/* The checks before an attempt: 0, or -1 and errno. */
static int precheck(const struct pctx *ctx)
{
	const struct target target = target_of(ctx);
	struct pctxi_task task;

	if (find_process(&target, &task) == -1)
		return -1;
	if (task.tracer == ctx->loop->owner && !pctxi_task_is_dead(&task))
		return refuse_traced(&target, ctx, task.tracer);
	if (pctxi_is_stopped_and_frozen(ctx->pid, &task))
		return refuse(&target, EBUSY,
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
