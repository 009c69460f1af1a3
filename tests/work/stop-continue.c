/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stop-continue - a child is stopped and continued, and its parent watches with waitpid(2).
 *
 * The child has two LWPs.  It is stopped by SIGSTOP, by SIGTSTP, by SIGSTOP again,
 * continued each time, and at last killed while stopped.  After each continue it waits
 * until its parent has seen that.  Known: the parent sees each stop with its signal and
 * each continue, once; while the child is stopped it does not run.  Prints PASS, or FAIL
 * and why (exit status 1).
 */
#include "work.h"

#include <sys/wait.h>

static volatile int *progress; /* shared with the child */
static int seen[2];	       /* a byte from the parent for each continue */

static void *idler(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void go_on(int to)
{
	char byte;

	if (read(seen[0], &byte, 1) != 1)
		broken("pipe");
	*progress = to;
}

__attribute__((noreturn)) static void child(void)
{
	setpgid(0, 0); /* the kernel discards SIGTSTP of an orphaned process group */
	start_thread(idler, NULL);
	raise(SIGSTOP);
	go_on(1);
	raise(SIGTSTP);
	go_on(2);
	kill(getpid(), SIGSTOP);
	go_on(3);
	for (;;)
		pause();
}

__attribute__((noreturn)) static void fail(pid_t pid, const char *why, int at)
{
	printf("FAIL: %s at %d\n", why, at);
	kill(pid, SIGKILL);
	exit(1);
}

static void stopped_by(pid_t pid, int sig, int at)
{
	siginfo_t info = {0};
	int status;

	if (waitpid(pid, &status, WUNTRACED | WCONTINUED) != pid || !WIFSTOPPED(status))
		fail(pid, "no stop", at);
	if (WSTOPSIG(status) != sig)
		fail(pid, "another signal stopped it", at);
	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WCONTINUED | WEXITED | WNOHANG) != 0 ||
	    info.si_pid != 0)
		fail(pid, "more than one stop", at);
	if (*progress != at)
		fail(pid, "it ran while stopped", at);
}

static void continued(pid_t pid, int at)
{
	int status;

	kill(pid, SIGCONT);
	if (waitpid(pid, &status, WCONTINUED) != pid || !WIFCONTINUED(status))
		fail(pid, "no continue", at);
	if (write(seen[1], "", 1) != 1)
		broken("pipe");
}

int main(void)
{
	int status;
	pid_t pid;

	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED || pipe(seen) == -1)
		broken("mmap, pipe");
	pid = fork_dependent();
	if (pid == -1)
		broken("fork");
	if (pid == 0)
		child();
	stopped_by(pid, SIGSTOP, 0);
	continued(pid, 0);
	stopped_by(pid, SIGTSTP, 1);
	continued(pid, 1);
	stopped_by(pid, SIGSTOP, 2);
	continued(pid, 2);
	kill(pid, SIGSTOP);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGSTOP)
		fail(pid, "no stop from outside", 3);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, WUNTRACED | WCONTINUED) != pid || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL)
		fail(pid, "no death", 3);
	puts("PASS");
	return 0;
}
