/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * hot-functions [-k] [-f] [-x] [-t THREADS] N - functions with known shares of page faults.
 *
 * Each LWP touches 3 N pages in touch_three() and N in touch_one().  -t: so do THREADS threads;
 * -f: so does a child; -x: which first executes the program without its options; -k: the
 * process ends by SIGKILL.
 *
 * Known: 75 % and 25 % of the faults, but for those that starting costs.
 */
#include "work.h"

#include <sys/wait.h>

__attribute__((noinline)) static void touch_one(volatile char *mem, size_t page, long n)
{
	for (long i = 0; i < n; i++)
		mem[(size_t)i * page] = 1;
}

__attribute__((noinline)) static void touch_three(volatile char *mem, size_t page, long n)
{
	for (long i = 0; i < 3 * n; i++)
		mem[(size_t)i * page] = 1;
}

static void *work(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	long n = *(long *)arg;
	size_t size = (4 * (size_t)n + 1) * page;
	volatile char *mem =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		broken("mmap");
	madvise((void *)mem, size, MADV_NOHUGEPAGE);
	/*
	 * A fault that sends a signal may be repeated, and count again, if it is the first of its
	 * mapping: not in these functions.
	 */
	mem[0] = 1;
	touch_three(mem + page, page, n);
	touch_one(mem + (3 * (size_t)n + 1) * page, page, n);
	munmap((void *)mem, size);
	return arg;
}

int main(int argc, char *argv[])
{
	bool kills = false, forks = false, execs = false;
	long threads = 0, n;
	pthread_t thread[64];
	int opt, status;

	while ((opt = getopt(argc, argv, "kfxt:")) != -1) {
		kills |= opt == 'k';
		forks |= opt == 'f' || opt == 'x';
		execs |= opt == 'x';
		if (opt == 't')
			threads = number(optarg);
	}
	n = operand(argc, argv, optind);
	must(threads <= 64, "at most 64 threads");
	for (long i = 0; i < threads; i++)
		thread[i] = start_thread(work, &n);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	work(&n);
	if (forks && fork() == 0) {
		if (execs)
			execl("/proc/self/exe", "hot-functions", argv[argc - 1], NULL);
		work(&n);
		_exit(0);
	}
	if (forks && (wait(&status) == -1 || status != 0))
		broken("child");
	if (kills)
		raise(SIGKILL);
	return 0;
}
