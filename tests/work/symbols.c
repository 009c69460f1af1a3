/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols [-w | -e] N [THREADS [CHILDREN]] - do the work N times, and again in each of THREADS
 * threads and CHILDREN child processes, one after the other.  With -w say "ready" and
 * wait for a byte first; with -e start again at each byte, and say "done", until there are no
 * more.
 *
 * Known: doing it once calls called(), which calls twin(); lib_called() of the library,
 * which calls another local function twin(); and getppid(2), each once.  It writes
 * `data`, `zeroed` and words[1] once, and words[0] twice.  The constructor of the library
 * calls lib_called() 7 times.  `own` is thread-local, chosen() of the library an IFUNC.
 */
#include "symbols-lib.h"
#include "work.h"

#include <stdint.h>
#include <sys/wait.h>

volatile uint64_t zeroed, words[2];
volatile uint32_t data = 1;
_Thread_local volatile int own;

__attribute__((noinline)) static void twin(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void called(void)
{
	twin();
	__asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
	for (long n = *(const long *)arg; n > 0; n--) {
		called();
		lib_called();
		getppid();
		data = 2;
		zeroed = 2;
		words[0] = 1;
		words[0] = 2;
		words[1] = 1;
	}
	own = 1;
	return NULL;
}

static void make_child(long *n)
{
	pid_t pid = fork();

	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		work(n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char *argv[])
{
	int opt = getopt(argc, argv, "we");
	long n = number(optind < argc ? argv[optind] : "");
	long threads = optind + 1 < argc ? number(argv[optind + 1]) : 0;
	long children = optind + 2 < argc ? number(argv[optind + 2]) : 0;
	char byte;

	if (opt != -1)
		say("ready\n");
	if (opt == 'w' && read(STDIN_FILENO, &byte, 1) == -1)
		broken("read");
	while (opt == 'e' && read(STDIN_FILENO, &byte, 1) == 1) {
		work(&n);
		say("done\n");
	}
	if (opt != 'e')
		work(&n);
	for (; threads > 0; threads--)
		pthread_join(start_thread(work, &n), NULL);
	for (; children > 0; children--)
		make_child(&n);
	return 0;
}
