/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps_work.h - workloads of test_lwps.c.  Each LWP reports the kernel's own
 * counts of it just before it ends, so that the numbers are exact.
 */
#ifndef LWPS_WORK_H
#define LWPS_WORK_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENTRIES 16384

struct report {
	unsigned n;
	int alone;    /* there is one CPU for us */
	int ready_fd; /* where to write that we are ready, if asked for */
	struct entry {
		pid_t tid;
		bool taken; /* it was matched with an LWP */
		uint64_t faults, switches;
		uint64_t touched; /* pages, at least */
	} entry[MAX_ENTRIES];
};

static struct report *my_report;
static pthread_barrier_t all_here;
static int my_pages;
static int my_fd; /* of the report */

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Touch so many new pages: so many faults. */
static inline void touch(int n)
{
	const size_t size = (size_t)getpagesize();
	char *p = mmap(NULL, size * (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	madvise(p, size * (size_t)n, MADV_NOHUGEPAGE);
	for (int i = 0; i < n; i++)
		((volatile char *)p)[size * (size_t)i] = 1;
	munmap(p, size * (size_t)n);
}

/* The faults of this LWP until now. */
static inline uint64_t my_faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	return (uint64_t)(r.ru_minflt + r.ru_majflt);
}

static inline volatile struct entry *new_entry(pid_t tid)
{
	unsigned i = __atomic_fetch_add(&my_report->n, 1, __ATOMIC_RELAXED);
	volatile struct entry *e = &my_report->entry[i % MAX_ENTRIES];

	*e = (struct entry){.tid = tid};
	return e;
}

static inline pid_t my_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Report as `tid`, and end this LWP without one more fault: all that is written is there. */
static inline void say_as(pid_t tid, uint64_t faults_before, uint64_t touched)
{
	volatile struct entry *e = new_entry(tid);
	struct rusage r;

	memset(&r, 1, sizeof(r));
	__asm__ volatile("" ::"r"(&r) : "memory");
	e->touched = touched;
	getrusage(RUSAGE_THREAD, &r);
	e->switches = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
	e->faults = (uint64_t)(r.ru_minflt + r.ru_majflt) - faults_before;
	syscall(SYS_exit, 0);
}

static inline void say_and_exit(void)
{
	say_as(my_tid(), 0, 0);
}

static inline void *thread(void *arg)
{
	touch(my_pages + (int)(intptr_t)arg % 7);
	pthread_barrier_wait(&all_here);
	say_and_exit();
	return NULL;
}

/* All live at once. */
static inline int work_threads(int n)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t attr;

	my_pages = 10;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_barrier_init(&all_here, NULL, (unsigned)n);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], &attr, thread, (void *)(intptr_t)i) != 0)
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 0;
}

static inline int reap(int n)
{
	int status, failed = 0;

	while (n-- > 0)
		failed |= wait(&status) < 0 || status != 0;
	return failed;
}

static inline int work_forks(int n)
{
	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			touch(i % 11);
			say_and_exit();
		}
		if (reap(1))
			return 2;
	}
	return 0;
}

static inline int work_vforks(int n)
{
	for (volatile int i = 0; i < n; i++) {
		if (vfork() == 0) {
			touch(i % 11);
			say_and_exit();
		}
		if (reap(1))
			return 2;
	}
	return 0;
}

/* Two children hand a byte to each other, so that each sleeps n times. */
static inline int work_ping_pong(int n)
{
	int to[2][2];
	char byte = 0;

	if (pipe(to[0]) != 0 || pipe(to[1]) != 0)
		return 2;
	for (int me = 0; me < 2; me++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < n; i++) {
			if (me == 0 && write(to[1][1], &byte, 1) != 1)
				_exit(2);
			if (read(to[me][0], &byte, 1) != 1)
				_exit(2);
			if (me == 1 && write(to[0][1], &byte, 1) != 1)
				_exit(2);
		}
		say_and_exit();
	}
	return reap(2);
}

#define PREEMPTED_NS 100000

/*
 * Takes so many milliseconds of time on a CPU, by the clock that the programs in the kernel read.
 * Between two looks at it that are close together, nothing else has run, or for less than that.
 */
static inline void *spinner(void *arg)
{
	int64_t ran = 0, now, last = clock_ns(CLOCK_MONOTONIC);

	while (ran < (intptr_t)arg * 1000000) {
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - last < PREEMPTED_NS)
			ran += now - last;
		last = now;
	}
	say_and_exit();
	return NULL;
}

static inline int work_spin(int ms)
{
	pthread_t t;

	if (pthread_create(&t, NULL, spinner, (void *)(intptr_t)ms) != 0)
		return 2;
	pthread_join(t, NULL);
	return 0;
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int two_cpus[2];

static inline void *migrant(void *arg)
{
	for (int i = 1; i <= (int)(intptr_t)arg; i++)
		pin(two_cpus[i % 2]);
	say_and_exit();
	return NULL;
}

/* A thread is born on one CPU, and goes to another and back. */
static inline int work_migrations(int n)
{
	pthread_t t;
	cpu_set_t set;
	int found = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET((unsigned)cpu, &set))
			two_cpus[found++] = cpu;
	my_report->alone = found < 2;
	if (found < 2)
		two_cpus[1] = two_cpus[0];
	pin(two_cpus[0]);
	if (pthread_create(&t, NULL, migrant, (void *)(intptr_t)n) != 0)
		return 2;
	pthread_join(t, NULL);
	return 0;
}

/* Execute this program as another workload, which one more argument may make longer. */
static inline void execute(const char *name, int n, const char *more)
{
	char number[16], fd[16];

	snprintf(number, sizeof(number), "%d", n);
	snprintf(fd, sizeof(fd), "%d", my_fd);
	execl("/proc/self/exe", "test_lwps", "work", name, number, fd, more, (char *)NULL);
}

/* The program that other workloads execute. */
static inline int work_image(int pages)
{
	touch(pages);
	say_as(-my_tid(), 0, 0);
	return 2;
}

static inline int work_execs(int n)
{
	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			touch(i);
			new_entry(my_tid())->faults = my_faults();
			execute("image", 200, NULL);
			_exit(2);
		}
		if (reap(1))
			return 2;
	}
	return 0;
}

static inline void *executor(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "executor");
	execute("image", 10, NULL);
	_exit(2);
}

static inline int work_thread_exec(int n)
{
	pthread_t t;

	(void)n;
	if (fork() == 0) {
		if (pthread_create(&t, NULL, executor, NULL) != 0)
			_exit(2);
		pause();
	}
	return reap(1);
}

static inline int work_long_args(int length)
{
	char *more = malloc((size_t)length + 1);

	memset(more, 'x', (size_t)length);
	more[length] = '\0';
	execute("nothing", 0, more);
	return 2;
}

static inline int work_nothing(int n)
{
	(void)n;
	return 0;
}

static inline void *ends_all(void *arg)
{
	(void)arg;
	_exit(9);
}

/* A process exits, another is killed, and of a third the leader ends and then a thread exits. */
static inline int work_ends(int n)
{
	pthread_t t;

	(void)n;
	if (fork() == 0)
		_exit(7);
	wait(NULL);
	if (fork() == 0)
		kill(getpid(), SIGKILL);
	wait(NULL);
	if (fork() == 0) {
		if (pthread_create(&t, NULL, ends_all, NULL) != 0)
			_exit(2);
		syscall(SYS_exit, 3);
	}
	wait(NULL);
	return 0;
}

static volatile sig_atomic_t told;

static inline void on_told(int sig)
{
	told = sig;
}

static inline int say_ready(void)
{
	return write(my_report->ready_fd, "", 1) == 1 ? 0 : 2;
}

static inline void *waiter(void *arg)
{
	uint64_t before = my_faults();

	(void)arg;
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here); /* the test lets us end */
	touch(20);
	say_as(my_tid(), before, 20);
	return NULL;
}

static inline void *passer(void *arg)
{
	touch(1);
	return arg;
}

/* Threads that wait until the test lets us end; meanwhile short threads start and end. */
static inline int work_attached(int n)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t)), passing;
	sigset_t set;

	signal(SIGTERM, on_told);
	pthread_barrier_init(&all_here, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, waiter, NULL) != 0)
			return 2;
	pthread_barrier_wait(&all_here);
	if (say_ready())
		return 2;
	for (int i = 0; i < 5000 && !told; i++) {
		if (pthread_create(&passing, NULL, passer, NULL) != 0)
			return 2;
		pthread_join(passing, NULL);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	while (!told)
		sigsuspend(&set);
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
	return 0;
}

static inline int work_spins_on(int n)
{
	(void)n;
	if (say_ready())
		return 2;
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static inline int work(const char *name, int n, int fd)
{
	static const struct {
		const char *name;
		int (*run)(int n);
	} works[] = {
		{"threads", work_threads},
		{"forks", work_forks},
		{"vforks", work_vforks},
		{"ping-pong", work_ping_pong},
		{"migrations", work_migrations},
		{"spin", work_spin},
		{"image", work_image},
		{"execs", work_execs},
		{"thread-exec", work_thread_exec},
		{"long-args", work_long_args},
		{"nothing", work_nothing},
		{"ends", work_ends},
		{"attached", work_attached},
		{"spins-on", work_spins_on},
	};

	my_fd = fd;
	my_report = mmap(NULL, sizeof(*my_report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (my_report == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, name) == 0)
			return works[i].run(n);
	return 2;
}

#endif /* LWPS_WORK_H */
