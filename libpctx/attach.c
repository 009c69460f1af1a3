/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * attach.c - seize a running process with all its LWPs, or tell why not.
 */
#include "pctx_impl.h"

#include <bsd/stdlib.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

/* proc(5) */
enum { STAT_FLAGS = 9, STAT_EXIT_CODE = 52 };

#define MAX_TRIES 1000 /* to catch a process that does nothing but execute */
#define MAX_REFUSED 10
#define PF_KTHREAD 0x00200000U /* linux/sched.h */

bool pctxi_own_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

int pctxi_task_read(pid_t tid, struct pctxi_task *task)
{
	char path[64], line[512];
	FILE *f;

	*task = (struct pctxi_task){.state = '?'};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL) {
		sscanf(line, "State: %c", &task->state);
		sscanf(line, "Tgid: %d", &task->tgid);
		sscanf(line, "PPid: %d", &task->ppid);
		sscanf(line, "TracerPid: %d", &task->tracer);
		sscanf(line, "Uid: %u", &task->uid);
	}
	fclose(f);
	return 0;
}

static bool dead(const struct pctxi_task *task)
{
	return task->state == 'Z' || task->state == 'X';
}

bool pctxi_is_zombie(pid_t tid)
{
	struct pctxi_task task;

	return pctxi_task_read(tid, &task) == 0 && dead(&task);
}

/* A number from /proc/TID/stat, by its place in proc(5), from 4 on; `none` when it is not there. */
static long stat_field(pid_t tid, int place, long none)
{
	char path[64], line[1024];
	bool got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return none;
	got = fgets(line, sizeof(line), f) != NULL;
	fclose(f);
	/* The name in parentheses, which is the second, may contain anything. */
	const char *p = got ? strrchr(line, ')') : NULL;

	for (int at = 2; p != NULL && at < place; at++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtol(p, NULL, 10) : none;
}

static bool is_kthread(pid_t pid)
{
	return ((unsigned)stat_field(pid, STAT_FLAGS, 0) & PF_KTHREAD) != 0;
}

int pctxi_exit_status(pid_t pid, int status)
{
	return (int)stat_field(pid, STAT_EXIT_CODE, status);
}

/*
 * Is a stopped process frozen by its cgroup, too?  Where the kernel's freezer does that
 * (cgroup v1), it looks like one that waits for a disk, and whoever seizes it waits with
 * it, and heeds no signal.
 */
static bool is_stopped_and_frozen(pid_t pid, char state)
{
	char path[64], where[32] = "";
	FILE *f;

	if (state != 'D')
		return false;
	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(where, sizeof(where), f) == NULL)
		where[0] = '\0';
	fclose(f);
	return strcmp(where, "do_signal_stop") == 0;
}

static int refuse(const struct pctx *ctx, int err, const char *why)
{
	pctxi_error(ctx->errfn, PCTXI_FN_CAPTURE, "cannot track process %d: %s", (int)ctx->pid,
		    why);
	errno = err;
	return -1;
}

static int yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%d", &scope) != 1)
		scope = 0;
	fclose(f);
	return scope;
}

/* Says why PTRACE_SEIZE of the process failed with `err`. */
static int why_not(const struct pctx *ctx, int err)
{
	char why[160];
	struct pctxi_task st;

	if (err == ESRCH || pctxi_task_read(ctx->pid, &st) == -1)
		return refuse(ctx, ESRCH,
			      kill(ctx->pid, 0) == -1 && errno == ESRCH
				      ? "no such process"
				      : "/proc hides it (hidepid); root may track it");
	if (dead(&st))
		return refuse(ctx, ESRCH, "it has ended (a zombie)");
	if (is_kthread(ctx->pid))
		return refuse(ctx, EINVAL, "it is a kernel thread");
	if (st.tracer != 0 && st.tracer != ctx->loop->owner) {
		snprintf(why, sizeof(why), "it is already traced, by process %d", (int)st.tracer);
		return refuse(ctx, EBUSY, why);
	}
	if (err != EPERM && err != EACCES)
		return refuse(ctx, err, strerror(err));
	if (st.uid != getuid()) {
		snprintf(why, sizeof(why),
			 "it belongs to user %u; root or CAP_SYS_PTRACE may track it",
			 (unsigned)st.uid);
		return refuse(ctx, EPERM, why);
	}
	if (yama_scope() > 0)
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

/* Who is in PTRACE_SEIZE; volatile, as the compiler is told that ptrace() calls nobody here. */
static _Thread_local struct pctxi_loop *volatile seizing;

/* Nothing is interrupted by it but that call: see seize_one(). */
static void reap(int sig)
{
	int saved = errno;

	(void)sig;
	if (seizing != NULL)
		pctxi_reports_keep(seizing);
	errno = saved;
}

/*
 * While an LWP executes a program, nobody can seize it nor the others of its process; but
 * it waits until the others are dead, and those that are ours until we know of it.  So
 * that we do not wait for each other, reports are taken meanwhile.
 */
static long seize_one(struct pctxi_loop *loop, pid_t tid, unsigned long options)
{
	sigset_t chld, old;
	long rc;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	seizing = loop;
	pthread_sigmask(SIG_UNBLOCK, &chld, &old);
	rc = ptrace(PTRACE_SEIZE, tid, NULL, options);
	int err = errno;

	pthread_sigmask(SIG_SETMASK, &old, NULL);
	seizing = NULL;
	errno = err;
	return rc;
}

/*
 * Seizes one LWP.  1: now ours; 0: it is gone, or ours already (born meanwhile
 * to an LWP of ours); -1 and errno.
 */
static int seize(struct pctx *ctx, pid_t tid)
{
	bool no_forks = ctx->adopted && ctx->fork == NULL;
	unsigned long options = pctxi_ptrace_options & ~(no_forks ? PCTXI_TRACE_FORKS : 0);
	struct pctxi_lwp *lwp;
	struct pctxi_task st;

	if (seize_one(ctx->loop, tid, options) == -1) {
		int err = errno;

		/*
		 * EPERM, too, is for LWPs that are ours already or dead; a dead leader
		 * may have live LWPs.  One that is no longer there was dying.
		 */
		if (pctxi_task_read(tid, &st) == -1) {
			if (tid != ctx->pid)
				return 0;
		} else if (st.tracer == ctx->loop->owner || (err == EPERM && dead(&st))) {
			if (tid == ctx->pid)
				ctx->status = pctxi_exit_status(tid, 0);
			return 0;
		}
		errno = err;
		return -1;
	}
	lwp = pctxi_lwp_new(ctx->loop, tid, LWP_RUNNING);
	if (lwp == NULL)
		return -1;
	lwp->no_forks = no_forks;
	pctxi_lwp_join(lwp, ctx);
	return 1;
}

/* One pass over the LWPs.  The number of newly seized ones, or -1 and errno. */
static int seize_pass(struct pctx *ctx, DIR *dir)
{
	struct dirent *de;
	const char *bad;
	int n = 0, got;
	pid_t tid;

	rewinddir(dir);
	for (errno = 0; (de = readdir(dir)) != NULL; errno = 0) {
		tid = (pid_t)strtonum(de->d_name, 1, INT_MAX, &bad);
		if (bad != NULL || pctxi_lwp_find(ctx->loop, tid) != NULL)
			continue;
		got = seize(ctx, tid);
		if (got == -1)
			return -1;
		n += got;
	}
	return errno == 0 || errno == ENOENT || errno == ESRCH ? n : -1;
}

/*
 * An LWP that executes a program while we come takes the leader's id, and is not ours,
 * whoever had that id before.
 */
static bool settled(struct pctx *ctx)
{
	struct pctxi_lwp *leader = pctxi_lwp_find(ctx->loop, ctx->pid);
	struct pctxi_task st;

	if (pctxi_task_read(ctx->pid, &st) == -1 || dead(&st))
		return true;
	if (leader != NULL && st.tracer != ctx->loop->owner) {
		pctxi_lwp_free(ctx->loop, leader);
		return false;
	}
	return !RB_EMPTY(&ctx->lwps);
}

int pctxi_attach(struct pctx *ctx)
{
	const struct sigaction act = {.sa_handler = reap, .sa_flags = SA_RESTART};
	char path[64];
	struct pctxi_task st;
	int n, err, tries = 0, refused = 0;
	struct sigaction dfl;
	sigset_t chld, old;
	DIR *dir;

	if (ctx->pid == getpid())
		return refuse(ctx, EINVAL, "that is the tracking program itself");
	if (!ctx->loop->own_proc)
		return refuse(ctx, ENOENT,
			      "/proc is not mounted, or it is that of another PID namespace");
	if (pctxi_task_read(ctx->pid, &st) == 0 && st.tgid != ctx->pid) {
		char why[96];

		snprintf(why, sizeof(why), "it is an LWP of process %d; track that", (int)st.tgid);
		return refuse(ctx, ESRCH, why);
	}
	if (is_stopped_and_frozen(ctx->pid, st.state))
		return refuse(ctx, EBUSY,
			      "it is stopped, and its cgroup is frozen: thaw that first");
	snprintf(path, sizeof(path), "/proc/%d/task", (int)ctx->pid);
	dir = opendir(path);
	if (dir == NULL)
		return why_not(ctx, errno == ENOENT ? ESRCH : errno);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &chld, &old);
	sigaction(SIGCHLD, &act, &dfl);
	/*
	 * What an LWP of ours creates is seized with it.  So when a pass finds
	 * none that is not ours, all are.
	 */
	do {
		n = seize_pass(ctx, dir);
		err = errno;
		/* Whoever was refused may have been dying, and somebody else have its id. */
	} while (n > 0 || (n == -1 && err == EPERM && ++refused < MAX_REFUSED) ||
		 (n == 0 && !settled(ctx) && ++tries < MAX_TRIES));
	sigaction(SIGCHLD, &dfl, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	closedir(dir);
	if (n == -1)
		return why_not(ctx, err);
	if (RB_EMPTY(&ctx->lwps))
		return why_not(ctx, EPERM);
	return 0;
}
