/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * seccomp MODE - seccomp(2) used by the program itself, on getpriority(2).
 *
 *   errno   fails with ENOMSG
 *   trap    SIGSYS with the number of the call
 *   trace   without a tracer: ENOSYS
 *   kill    a child dies of SIGSYS
 *   strict  a child of which only read, write and exit are left
 *   exec    the filter survives exec
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

static volatile sig_atomic_t came, nr, code;

static void filter(uint32_t action)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0, "a filter");
}

static long call(void)
{
	errno = 0;
	return syscall(SYS_getpriority, PRIO_PROCESS, 0);
}

static void fails(void)
{
	filter(SECCOMP_RET_ERRNO | ENOMSG);
	for (int i = 0; i < 100; i++)
		must(call() == -1 && errno == ENOMSG, "ENOMSG");
}

static void on_sys(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	came++;
	nr = info->si_syscall;
	code = info->si_code;
}

static void traps(void)
{
	struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};

	sigaction(SIGSYS, &act, NULL);
	filter(SECCOMP_RET_TRAP);
	for (int i = 1; i <= 100; i++) {
		call();
		must(came == i && nr == SYS_getpriority && code == 1 /* SYS_SECCOMP */, "SIGSYS");
	}
}

static void traces(void)
{
	filter(SECCOMP_RET_TRACE);
	for (int i = 0; i < 100; i++)
		must(call() == -1 && errno == ENOSYS, "ENOSYS");
}

static void reap(pid_t pid, int want, const char *what)
{
	int status;

	must(waitpid(pid, &status, 0) == pid && (status & ~0x80) == want, what);
}

static void kills(void)
{
	struct rlimit none = {0};

	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			setrlimit(RLIMIT_CORE, &none);
			filter(SECCOMP_RET_KILL_PROCESS);
			call();
			_exit(99);
		}
		reap(pid, SIGSYS, "killed by the filter");
	}
}

static void strict(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
			if (i % 2 == 0)
				syscall(SYS_getpid);
			syscall(SYS_exit, 4);
		}
		reap(pid, i % 2 == 0 ? SIGKILL : 4 << 8, "in strict mode");
	}
}

static void executes(void)
{
	char *again[] = {(char[]){"filters"}, (char[]){"check"}, NULL};

	filter(SECCOMP_RET_ERRNO | ENOMSG);
	execv("/proc/self/exe", again);
	must(false, "exec");
}

static void check(void)
{
	must(call() == -1 && errno == ENOMSG, "ENOMSG after exec");
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"errno", fails},   {"trap", traps},	{"trace", traces}, {"kill", kills},
		{"strict", strict}, {"exec", executes}, {"check", check},
	};

	return RUN_MODE(modes, argc, argv);
}
