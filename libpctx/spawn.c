/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spawn.c - start a program and stop it before its first instruction.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns when the other end is closed (0) or has written `n` bytes (n); -1. */
static ssize_t read_all(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got == -1 && errno == EINTR);
	return got;
}

/* Our handlers are not the child's: a signal meant for it does what it did after the exec. */
static void drop_handlers(void)
{
	struct sigaction act;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &act) == 0 && act.sa_handler != SIG_DFL &&
		    act.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	}
}

/* The child: wait to be seized, then become the program or say why not. */
static _Noreturn void child(int go, int fail, const char *filename, char *const *argv,
			    const struct sigaction *chld, const sigset_t *mask)
{
	char byte;
	int err;

	drop_handlers();
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	if (read_all(go, &byte, 1) != 1)
		_exit(127); /* our parent gave up */
	sigaction(SIGCHLD, chld, NULL);
	execvp(filename, argv);
	err = errno;
	while (write(fail, &err, sizeof(err)) == -1 && errno == EINTR)
		;
	_exit(127);
}

/* Lets the seized child run up to its exec.  0, or -1 when it died before. */
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
		if (stop.what == PCTXI_EXEC)
			return 0;
		if (stop.what == PCTXI_DIED)
			return -1;
		/* The child may be killed meanwhile: the next waitpid tells. */
		if (stop.what == PCTXI_GROUP_STOP)
			ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		else
			ptrace(PTRACE_CONT, pid, NULL, (void *)(long)stop.sig);
	}
}

/* Waits for its end.  Did a signal kill it? */
static bool was_killed(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, __WALL) == -1 && errno == EINTR)
		;
	return WIFSIGNALED(status);
}

pid_t pctxi_spawn(const char *filename, char *const *argv, const struct sigaction *chld)
{
	int go[2], fail[2], err = 0;
	sigset_t all, mask;
	pid_t pid = -1;

	if (pipe2(go, O_CLOEXEC) == -1)
		return -1;
	if (pipe2(fail, O_CLOEXEC) == -1) {
		err = errno;
		goto out_go;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(fail[0]);
		child(go[0], fail[1], filename, argv, chld, &mask);
	}
	err = errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (pid == -1)
		goto out_fail;
	err = 0;
	close(fail[1]);
	fail[1] = -1;

	if (ptrace(PTRACE_SEIZE, pid, NULL, pctxi_ptrace_options | PTRACE_O_EXITKILL) == -1) {
		err = errno;
		close(go[1]); /* the child reads end of file, and leaves */
		go[1] = -1;
		if (was_killed(pid))
			err = EINTR;
		goto out_fail;
	}
	if (write(go[1], "", 1) != 1 || run_to_exec(pid) == -1) {
		/* Without a word from the child it was killed by somebody. */
		if (read_all(fail[0], &err, sizeof(err)) != sizeof(err))
			err = EINTR;
	}
out_fail:
	close(fail[0]);
	if (fail[1] != -1)
		close(fail[1]);
out_go:
	close(go[0]);
	if (go[1] != -1)
		close(go[1]);
	errno = err;
	return err != 0 ? -1 : pid;
}
