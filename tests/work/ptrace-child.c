/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ptrace-child MODE - trace a child with ptrace(2): for a child that is not followed.
 *
 *   traceme  PTRACE_TRACEME, and a stop at its exec
 *   seize    PTRACE_SEIZE, an interrupt, and its exit
 *   attach   PTRACE_ATTACH and PTRACE_DETACH
 *   calls    every system call of a child, in and out
 *   itself   no child: PTRACE_TRACEME, a signal and an exec, with any parent
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

static int stopped(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "a stop");
	return status >> 8;
}

static void ended(pid_t pid, int want)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && status == want, "an end");
}

static pid_t start_idle(void)
{
	pid_t pid = fork_dependent();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void traceme(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	must(stopped(pid) == SIGTRAP, "the stop at exec");
	must(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0, "PTRACE_CONT");
	ended(pid, 0);
}

static void seize(void)
{
	pid_t pid = start_idle();

	must(ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACEEXIT) == 0, "PTRACE_SEIZE");
	must(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0, "PTRACE_INTERRUPT");
	must(stopped(pid) == (SIGTRAP | PTRACE_EVENT_STOP << 8), "the interrupt");
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	kill(pid, SIGTERM);
	must(stopped(pid) == SIGTERM, "the signal");
	ptrace(PTRACE_CONT, pid, NULL, (void *)SIGTERM);
	must(stopped(pid) == (SIGTRAP | PTRACE_EVENT_EXIT << 8), "the exit");
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	ended(pid, SIGTERM);
}

static void attach(void)
{
	pid_t pid = start_idle();

	for (int i = 0; i < 5; i++) {
		must(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0, "PTRACE_ATTACH");
		must(stopped(pid) == SIGSTOP, "its stop");
		must(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0, "PTRACE_DETACH");
	}
	kill(pid, SIGKILL);
	ended(pid, SIGKILL);
}

static void calls(void)
{
	int n = 0, status;
	pid_t pid = fork();

	if (pid == 0) {
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
		raise(SIGSTOP);
		for (int i = 0; i < 100; i++)
			syscall(SYS_getpriority, PRIO_PROCESS, 0);
		_exit(3);
	}
	must(stopped(pid) == SIGSTOP, "its stop");
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		must(waitpid(pid, &status, 0) == pid, "its next stop");
		if (!WIFSTOPPED(status))
			break;
		n += status >> 8 == (SIGTRAP | 0x80);
	}
	must(status == 3 << 8 && n >= 201 && n < 210, "100 calls, in and out, and its end");
}

static void itself(void)
{
	must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
	raise(SIGWINCH);
	execlp("echo", "echo", "PASS", (char *)NULL);
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {{"traceme", traceme},
					    {"seize", seize},
					    {"attach", attach},
					    {"calls", calls},
					    {"itself", itself}};

	return RUN_MODE(modes, argc, argv);
}
