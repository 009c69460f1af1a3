/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deaths MODE - ends of all kinds.
 *
 *   signals  a child dies of every signal that kills, and one of each that does not lives
 *   threads  the same, raised in a thread while two others run
 *   abort    abort(3) in a thread, a stack that overflows, a bad instruction
 *   core     a core dump, where they are written
 *   killed   20 children, killed at once after their birth
 *   midway   20 children with threads, killed while they do something
 *   forgot   children whose parent ends without waiting for them
 *   exits    every exit status from 0 to 255
 *   racing   10 threads call _exit(2) at the same time, with the same status
 *   chain    each of 10 processes kills the one that made it
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <sys/wait.h>
#include <ucontext.h>

static const int harmless[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

static bool is_one_of(int sig, const int *set, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (set[i] == sig)
			return true;
	}
	return false;
}

static void no_core(void)
{
	struct rlimit none = {0};

	setrlimit(RLIMIT_CORE, &none);
}

static void reap(pid_t pid, int status, const char *what)
{
	int got;

	must(waitpid(pid, &got, 0) == pid && (got & ~0x80) == status, what);
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *raise_it(void *sig)
{
	raise(*(int *)sig);
	return NULL;
}

static void die_of_all(bool by_thread)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		pid_t pid;

		if (is_one_of(sig, stops, 4) || (sig > SIGSYS && sig < SIGRTMIN))
			continue;
		pid = fork();
		if (pid == 0) {
			no_core();
			signal(sig, SIG_DFL);
			if (by_thread) {
				start_thread(idle, NULL);
				start_thread(idle, NULL);
				pthread_join(start_thread(raise_it, &sig), NULL);
			} else {
				raise(sig);
			}
			_exit(99);
		}
		reap(pid, is_one_of(sig, harmless, 4) ? 99 << 8 : sig, "a death by signal");
	}
}

static void signals(void)
{
	die_of_all(false);
}

static void threads(void)
{
	die_of_all(true);
}

static void *do_abort(void *arg)
{
	(void)arg;
	abort();
}

__attribute__((noreturn)) static void overflow(void)
{
	for (;;) {
		volatile char *below = __builtin_alloca(4096);

		below[0] = 1;
	}
}

#ifdef __aarch64__
#define TRAP SIGTRAP /* of __builtin_trap() */
#else
#define TRAP SIGILL
#endif

static void aborts(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			no_core();
			if (i == 0)
				pthread_join(start_thread(do_abort, NULL), NULL);
			else if (i == 1)
				overflow();
			else
				__builtin_trap();
			_exit(99);
		}
		reap(pid, i == 0 ? SIGABRT : i == 1 ? SIGSEGV : TRAP, "an abort");
	}
}

static void core(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	char name[64];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &all);
		start_thread(idle, NULL);
		start_thread(idle, NULL);
		raise(SIGQUIT);
		_exit(99);
	}
	must(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGQUIT, "a death with core");
	snprintf(name, sizeof(name), "core.%d", (int)pid);
	unlink(name);
	unlink("core");
}

static void killed(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			idle(NULL);
		kill(pid, SIGKILL);
		reap(pid, SIGKILL, "killed");
	}
}

static void midway(void)
{
	for (int i = 0; i < 20; i++) {
		struct chore chore = {.pages = 10};
		pid_t pid = fork();

		if (pid == 0) {
			for (;;)
				pthread_join(start_thread(chore_thread, &chore), NULL);
		}
		usleep((useconds_t)(i * 150));
		kill(pid, SIGKILL);
		reap(pid, SIGKILL, "killed");
	}
}

static void forgot(void)
{
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			usleep((useconds_t)(i * 100));
			_exit(1);
		}
	}
}

static void exits(void)
{
	for (int i = 0; i < 256; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i);
		reap(pid, i << 8 & 0xff7f, "an exit status");
	}
}

static pthread_barrier_t together;

static void *end_all(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	_exit(6);
}

static void racing(void)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pthread_barrier_init(&together, NULL, 10);
			for (int t = 0; t < 10; t++)
				start_thread(end_all, NULL);
			idle(NULL);
		}
		reap(pid, 6 << 8, "an end by all");
	}
}

static void chain(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) == -1)
		broken("pipe");
	if (fork() == 0) {
		close(ends[0]);
		for (int i = 0; i < 10; i++) {
			pid_t maker = getpid(), pid = fork();

			must(pid != -1, "fork");
			if (pid != 0)
				idle(NULL);
			must(kill(maker, SIGKILL) == 0, "kill");
		}
		_exit(0);
	}
	close(ends[1]);
	must(read(ends[0], &byte, 1) == 0, "the last one's end");
	must(wait(NULL) > 0, "the first one's end");
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"signals", signals}, {"threads", threads}, {"abort", aborts},	{"core", core},
		{"killed", killed},   {"midway", midway},   {"forgot", forgot}, {"exits", exits},
		{"racing", racing},   {"chain", chain},
	};

	return RUN_MODE(modes, argc, argv);
}
