/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* spawn.c - starts a program; one to be controlled stops before its first instruction. */
#include "base.h"
#include "control.h"
#include "procfs.h"
#include "stop.h"
#include "untraced.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What to start. */
struct program {
	const char *filename;
	char *const *argv;
	const struct sigaction *chld; /* the action of SIGCHLD there; NULL: as in the caller */
	pctx_errfn_t *errfn;
};

/* ---- the child, which allocates no memory ----------------------------------- */

/* Signals with a handler of ours get their default action in the child. */
static void drop_handlers(void)
{
	struct sigaction act;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &act) == 0 && act.sa_handler != SIG_DFL &&
		    act.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	}
}

/* Does execvp(3) try the next directory after this error? */
static bool try_next(int err)
{
	return err == ENOENT || err == ENOTDIR || err == EACCES || err == ESTALE || err == ENODEV ||
	       err == ETIMEDOUT;
}

/*
 * Does execvp(3), but a file in an unknown format is an error: execvp() would run it with sh,
 * which would execute whatever its contents happen to mean.
 */
static void exec_in_path(const char *file, char *const *argv)
{
	size_t size = strlen(file) + 1, n;
	const char *path = getenv("PATH"), *end;
	char full[PATH_MAX];
	bool denied = false;

	if (size == 1) {
		errno = ENOENT;
		return;
	}
	if (strchr(file, '/') != NULL) {
		execve(file, argv, environ);
		return;
	}
	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;; path = end + 1) {
		end = strchrnul(path, ':');
		n = (size_t)(end - path);
		if (n + 1 + size > sizeof(full)) {
			errno = ENAMETOOLONG;
		} else {
			/* An empty element is the current directory. */
			memcpy(full, path, n);
			full[n] = '/';
			memcpy(full + n + (n > 0), file, size);
			execve(full, argv, environ);
			if (!try_next(errno))
				return;
			denied |= errno == EACCES;
		}
		if (*end == '\0')
			break;
	}
	if (denied)
		errno = EACCES;
}

/* Waits for a byte from its parent unless `go` is -1.  Executes, or sends the errno. */
static _Noreturn void run_child(int go, int fail, const struct program *program,
				const sigset_t *mask)
{
	ssize_t n = 1;
	char byte;
	int err;

	drop_handlers();
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	while (go != -1 && (n = read(go, &byte, 1)) == -1 && errno == EINTR)
		;
	if (n != 1)
		_exit(127); /* our parent gave up */
	if (program->chld != NULL)
		sigaction(SIGCHLD, program->chld, NULL);
	exec_in_path(program->filename, program->argv);
	err = errno;
	while (write(fail, &err, sizeof(err)) == -1 && errno == EINTR)
		;
	_exit(127);
}

/* ---- error messages; each function returns -1 and errno ----------------------- */

static int cannot_call(const struct program *program, const char *call)
{
	pctxi_error(program->errfn, PCTXI_FN_CREATE, "cannot start program '%s': %s: %s",
		    program->filename, call, strerror(errno));
	return -1;
}

static int cannot_seize(const struct program *program, int err)
{
	const char *filename = program->filename;
	struct pctxi_task self;

	if (err != EPERM)
		pctxi_error(program->errfn, PCTXI_FN_CREATE, "cannot control program '%s': %s",
			    filename, strerror(err));
	else if (pctxi_task_read_self(&self) == 0 && self.tracer != 0)
		pctxi_error(program->errfn, PCTXI_FN_CREATE,
			    "cannot control program '%s': process %d, which traces us, would "
			    "trace it, too",
			    filename, (int)self.tracer);
	else
		pctxi_error(program->errfn, PCTXI_FN_CREATE,
			    "cannot control program '%s': ptrace(2) is not permitted here (a "
			    "container's seccomp profile, or kernel.yama.ptrace_scope)",
			    filename);
	return pctxi_errno(err);
}

static int cannot_execute(const struct program *program, int err)
{
	const char *filename = program->filename;

	if (err == ENOENT && strchr(filename, '/') != NULL && access(filename, F_OK) == 0)
		/* The interpreter of a script, or the dynamic linker of a program. */
		pctxi_error(program->errfn, PCTXI_FN_CREATE,
			    "cannot find the interpreter of program '%s'", filename);
	else if (err == ENOENT)
		pctxi_error(program->errfn, PCTXI_FN_CREATE, "cannot find program '%s'", filename);
	else
		pctxi_error(program->errfn, PCTXI_FN_CREATE, "cannot execute program '%s': %s%s",
			    filename, strerror(err),
			    err == ENOEXEC ? " (neither a program for this machine nor a script "
					     "that begins with #!)"
					   : "");
	return pctxi_errno(err);
}

static int killed_early(const struct program *program)
{
	pctxi_error(program->errfn, PCTXI_FN_CREATE, "program '%s' was killed before it started",
		    program->filename);
	return pctxi_errno(EINTR);
}

/* ---- the parent -------------------------------------------------------------- */

/* The errno of the child's exec; 0: it sent none. */
static int read_errno(int fd)
{
	ssize_t n;
	int err;

	do
		n = read(fd, &err, sizeof(err));
	while (n == -1 && errno == EINTR);
	return n == sizeof(err) ? err : 0;
}

/* Lets the seized child run up to its exec: 1; 0: it exited before; -1 and errno: no wait is
 * possible. */
static int run_to_exec(pid_t pid)
{
	struct pctxi_stop stop;
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		stop = pctxi_stop_decode(status);
		if (stop.kind == PCTXI_STOP_EXEC)
			return 1;
		if (stop.kind == PCTXI_STOP_DEATH)
			return 0;
		/* These fail if the child was killed: the next waitpid() reports that. */
		if (stop.kind == PCTXI_STOP_GROUP)
			ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		else
			ptrace(PTRACE_CONT, pid, NULL, (void *)(long)stop.sig);
	}
}

/* Waits for the exit of a child.  Did a signal kill it? */
static bool was_killed(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) == -1 && errno == EINTR)
		;
	return WIFSIGNALED(status);
}

static void close_end(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* Waits for the child's exec or exit. */
static int start(const struct program *program, pid_t pid, int fail)
{
	int err = read_errno(fail);

	if (err == 0)
		return 0;
	was_killed(pid);
	return cannot_execute(program, err);
}

/* Seizes the child, which waits for `go`, and lets it run up to its exec. */
static int start_seized(const struct program *program, pid_t pid, int *go, int fail)
{
	int err;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PCTXI_TRACE_OPTIONS) == -1) {
		/* A seccomp profile may deny the call with any errno. */
		err = errno == EACCES || errno == ENOSYS ? EPERM : errno;
		close_end(go); /* the child reads end of file, and exits */
		return was_killed(pid) ? killed_early(program) : cannot_seize(program, err);
	}
	if (write(*go, "", 1) != 1) {
		cannot_call(program, "write(2)");
		err = errno;
		close_end(go);
		run_to_exec(pid); /* until it exits */
		return pctxi_errno(err);
	}
	switch (run_to_exec(pid)) {
	case 1:
		return 0;
	case -1:
		cannot_call(program, "wait4(2)");
		err = errno;
		kill(pid, SIGKILL);
		return pctxi_errno(err);
	default:
		break;
	}
	err = read_errno(fail);
	return err != 0 ? cannot_execute(program, err) : killed_early(program);
}

/*
 * A child that need not wait to be seized borrows our memory until its exec (vfork), so that the
 * kernel copies none.
 */
static pid_t spawn(const struct program *program, bool seized)
{
	int go[2] = {-1, -1}, fail[2] = {-1, -1}, rc, err;
	sigset_t all, mask;
	pid_t pid = -1;

	if ((seized && pipe2(go, O_CLOEXEC) == -1) || pipe2(fail, O_CLOEXEC) == -1) {
		rc = cannot_call(program, "pipe2(2)");
		goto out;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pid = seized ? fork() : vfork();
	if (pid == 0) {
		if (seized)
			close(go[1]);
		close(fail[0]);
		run_child(go[0], fail[1], program, &mask);
	}
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	close_end(&fail[1]);
	if (pid == -1)
		rc = cannot_call(program, "fork(2)");
	else if (seized)
		rc = start_seized(program, pid, &go[1], fail[0]);
	else
		rc = start(program, pid, fail[0]);
out:
	err = errno;
	for (int i = 0; i < 2; i++) {
		close_end(&go[i]);
		close_end(&fail[i]);
	}
	errno = err;
	return rc == 0 ? pid : -1;
}

pid_t pctxi_spawn(pctx_errfn_t *errfn, const char *filename, char *const *argv,
		  const struct sigaction *chld)
{
	const struct program program = {filename, argv, chld, errfn};

	return spawn(&program, true);
}

pid_t pctx_spawn(const char *filename, char *const *argv, const struct sigaction *chld,
		 pctx_errfn_t *errfn)
{
	const struct program program = {filename, argv, chld,
					errfn != NULL ? errfn : pctxi_default_errfn};

	return spawn(&program, false);
}

int pctx_spawn_wait(pid_t pid, int *status, int block)
{
	siginfo_t info = {0};
	pid_t done;

	if (block == 0) {
		/* Leave the exit status to be reaped. */
		if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT | __WALL) == -1)
			return -1;
		if (info.si_pid != 0 && info.si_code == CLD_TRAPPED &&
		    waitpid(pid, status, WNOHANG | __WALL) == pid)
			pctxi_detach_stranger(pid, *status);
		return 0;
	}
	for (;;) {
		done = waitpid(pid, status, __WALL);
		if (done == pid && !WIFSTOPPED(*status))
			return 0;
		if (done == pid)
			pctxi_detach_stranger(pid, *status);
		else if (errno != EINTR)
			return -1;
	}
}
