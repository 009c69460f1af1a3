/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signal-rounds [N] - send and receive N (default 50) rounds of signals, and check them all.
 *
 * In every round a child queues SIGUSR1 with a value, SIGUSR2 comes from raise(3),
 * and the child's death brings SIGCHLD: by exit in even rounds, by SIGKILL in odd
 * ones.  Known: exactly N handler calls for each of the three, with sender, code and
 * value as sent, and wait statuses as they died; a sleep that no signal with a
 * handler interrupts sleeps to its end.  Prints PASS, or FAIL and why (exit status 1).
 */
#include "work.h"

#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t got[65];
static volatile sig_atomic_t last_code[65], last_value, last_pid[65];

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	got[sig]++;
	last_code[sig] = info->si_code;
	last_pid[sig] = info->si_pid;
	last_value = sig == SIGCHLD ? info->si_status : info->si_value.sival_int;
}

__attribute__((noreturn)) static void fail(const char *why, long round)
{
	printf("FAIL: %s in round %ld\n", why, round);
	exit(1);
}

/* Until SIG has come `times` times; nothing else interrupts. */
static void await(int sig, long times, const sigset_t *open)
{
	while (got[sig] < times)
		sigsuspend(open);
}

static pid_t start_child(int value)
{
	union sigval v = {.sival_int = value};
	pid_t pid = fork_dependent();

	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		sigqueue(getppid(), SIGUSR1, v);
		if (value % 2 == 0)
			_exit(value % 128);
		for (;;)
			pause();
	}
	return pid;
}

static void one_round(long i, const sigset_t *open)
{
	pid_t pid = start_child((int)i);
	int status;

	await(SIGUSR1, i + 1, open);
	if (last_code[SIGUSR1] != SI_QUEUE || last_pid[SIGUSR1] != pid)
		fail("the sender of SIGUSR1", i);
	if (i % 2 == 1) {
		if (last_value != i)
			fail("the value of SIGUSR1", i);
		kill(pid, SIGKILL);
	}
	await(SIGCHLD, i + 1, open);
	if (last_pid[SIGCHLD] != pid ||
	    last_code[SIGCHLD] != (i % 2 == 0 ? CLD_EXITED : CLD_KILLED) ||
	    last_value != (i % 2 == 0 ? i % 128 : SIGKILL))
		fail("what SIGCHLD says", i);
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid", i);
	if (i % 2 == 0 ? !WIFEXITED(status) || WEXITSTATUS(status) != i % 128
		       : !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail("a wait status", i);
	raise(SIGUSR2);
	await(SIGUSR2, i + 1, open);
	if (last_code[SIGUSR2] != SI_TKILL || last_pid[SIGUSR2] != getpid())
		fail("the sender of SIGUSR2", i);
}

int main(int argc, char *argv[])
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
	long n = argc > 1 ? number(argv[1]) : 50;
	sigset_t all, open;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &open);
	sigdelset(&open, SIGUSR1);
	sigdelset(&open, SIGUSR2);
	sigdelset(&open, SIGCHLD);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGCHLD, &sa, NULL);
	for (long i = 0; i < n; i++)
		one_round(i, &open);
	sigprocmask(SIG_SETMASK, &open, NULL);
	if (nanosleep(&nap, NULL) != 0)
		fail("an undisturbed sleep", n);
	if (got[SIGUSR1] != n || got[SIGUSR2] != n || got[SIGCHLD] != n)
		fail("the number of signals", n);
	puts("PASS");
	return 0;
}
