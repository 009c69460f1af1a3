/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * waits N MS exit|stop|threads [MOVES [KILLED]] - N children that compete for one CPU.
 *
 * It prints its process id, and reads a line.  Then it creates the children, or as many threads.
 * Each uses MS milliseconds of CPU time, and exits, or stops by SIGSTOP; a thread sleeps.  All are
 *on the first CPU that it may use.  MOVES times a child is moved to the second CPU, and back: it
 *runs or waits then.  The first KILLED children are killed by SIGKILL halfway.
 *
 * For each child it prints, from /proc:
 *	PID, the nanoseconds that it has waited for a CPU, its involuntary switches, and the
 *	nanoseconds from its birth to its end, or 0
 * as they are after its last switch: those of zombies, or of stopped processes or sleeping threads.
 *Then it waits for the end of its input, in a sleep, and kills the children that are left.
 */
#include "work.h"

#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#define CHILDREN 2000

enum children { EXIT, STOP, THREADS };

static size_t ncpus, cpu[CPU_SETSIZE];
static pid_t child[CHILDREN];
static long long *ended; /* by child; shared */
static long use_ms;

static long long ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void find_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == -1)
		broken("sched_getaffinity");
	for (size_t i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &set))
			cpu[ncpus++] = i;
	}
}

static void pin(pid_t pid, size_t to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to, &set);
	if (sched_setaffinity(pid, sizeof(set), &set) == -1 && errno != ESRCH)
		broken("sched_setaffinity");
}

/* What /proc says of an LWP: its waits, and its involuntary switches. */
static void read_waits(pid_t tid, long long *delay, long *preemptions)
{
	static const char name[] = "nonvoluntary_ctxt_switches:";
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", tid, tid);
	f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%*d %lld", delay) != 1)
		broken(path);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", tid, tid);
	f = fopen(path, "r");
	*preemptions = -1;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, sizeof(name) - 1) == 0)
			*preemptions = atol(line + sizeof(name) - 1);
	}
	if (*preemptions == -1)
		broken(path);
	fclose(f);
}

static void use_time(long i)
{
	const long long begin = ns_of(CLOCK_MONOTONIC);

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < use_ms * 1000000LL)
		;
	__atomic_store_n(&ended[i], ns_of(CLOCK_MONOTONIC) - begin, __ATOMIC_RELEASE);
}

static void *run_thread(void *number)
{
	const long i = (long)(intptr_t)number;

	__atomic_store_n(&child[i], gettid(), __ATOMIC_RELEASE);
	use_time(i);
	for (;;)
		pause();
	return NULL;
}

static void create(long i, enum children mode)
{
	pthread_t thread;

	if (mode == THREADS) {
		if (pthread_create(&thread, NULL, run_thread, (void *)(intptr_t)i) != 0)
			broken("pthread_create");
		return;
	}
	child[i] = fork();
	if (child[i] == -1)
		broken("fork");
	if (child[i] != 0)
		return;
	use_time(i);
	if (mode == STOP)
		raise(SIGSTOP);
	_exit(0);
}

static void wait_for_end(long i, enum children mode)
{
	siginfo_t info;

	if (mode == THREADS) {
		while (__atomic_load_n(&ended[i], __ATOMIC_ACQUIRE) == 0)
			sleep_ms(5);
	} else if (waitid(P_PID, (id_t)child[i], &info, WEXITED | WSTOPPED | WNOWAIT) == -1) {
		broken("waitid");
	}
}

/* Prints the last values: a child may still run for a moment after it is reported. */
static void print_child(long i)
{
	long long delay, last = -1;
	long preemptions;

	for (;;) {
		read_waits(child[i], &delay, &preemptions);
		if (delay == last)
			break;
		last = delay;
		sleep_ms(5);
	}
	printf("%d %lld %ld %lld\n", child[i], delay, preemptions, ended[i]);
}

int main(int argc, char **argv)
{
	const long n = argc > 3 ? number(argv[1]) : 0;
	const enum children mode = argc <= 3			     ? EXIT
				   : strcmp(argv[3], "threads") == 0 ? THREADS
				   : strcmp(argv[3], "stop") == 0    ? STOP
								     : EXIT;
	const long moves = argc > 4 ? number(argv[4]) : 0, killed = argc > 5 ? number(argv[5]) : 0;
	char line[16];

	if (n < 1 || n > CHILDREN || killed > n)
		broken("usage: waits N MS exit|stop|threads [MOVES [KILLED]]");
	use_ms = number(argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	find_cpus();
	if (moves > 0 && ncpus < 2)
		broken("it moves children between two CPUs");
	ended = mmap(NULL, (size_t)n * sizeof(*ended), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ended == MAP_FAILED)
		broken("mmap");
	snprintf(line, sizeof(line), "waits%d", getpid());
	prctl(PR_SET_NAME, line);
	printf("%d\n", getpid());
	if (fgets(line, sizeof(line), stdin) == NULL)
		broken("no input");
	pin(0, cpu[0]);
	for (long i = 0; i < n; i++)
		create(i, mode);
	for (long i = 0; i < moves; i++) {
		sleep_ms(1);
		pin(child[i % n], cpu[i / n % 2 == 0]);
	}
	if (killed > 0)
		sleep_ms(n * use_ms / 2);
	for (long i = 0; i < killed; i++)
		kill(child[i], SIGKILL);
	for (long i = 0; i < n; i++)
		wait_for_end(i, mode);
	for (long i = 0; i < n; i++)
		print_child(i);
	printf("end\n");
	if (fgets(line, sizeof(line), stdin) != NULL)
		broken("more input");
	for (long i = 0; i < n && mode != THREADS; i++)
		kill(child[i], SIGKILL);
	return 0;
}
