/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * steps COMMAND... - how many instructions a program runs in user mode from one SIGUSR1, which
 * it sends to itself, to the next; found out by stepping through them.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	unsigned long steps = 0;
	int status, marks = 0, sig = 0;
	pid_t pid;

	if (argc < 2)
		errx(2, "usage: steps COMMAND...");
	pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[1], argv + 1);
		err(127, "%s", argv[1]);
	}
	if (pid == -1)
		err(1, "fork");
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		sig = WSTOPSIG(status);
		if (sig == SIGUSR1)
			marks++;
		else if (sig == SIGTRAP)
			steps += marks == 1;
		if (ptrace(marks == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL,
			   (long)(sig == SIGTRAP || sig == SIGUSR1 ? 0 : sig)) == -1 &&
		    errno != ESRCH)
			err(1, "ptrace");
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return WEXITSTATUS(status);
	if (marks != 2 || WIFSIGNALED(status))
		errx(1, "%s died, or sent %d SIGUSR1", argv[1], marks);
	printf("%lu\n", steps);
	return 0;
}
