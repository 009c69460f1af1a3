/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps_work.h - workloads of test_lwps.c.  Each LWP that they make reports what the kernel has
 * counted for it as the last thing before it ends, so that the numbers are exact.
 */
#ifndef LWPS_WORK_H
#define LWPS_WORK_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ENTRIES 16384

struct report {
	unsigned n;
	int alone; /* there is one CPU for us */
	struct entry {
		pid_t tid;
		uint64_t faults, switches;
		uint64_t wall_ns; /* from the workload's begin to the LWP's end */
	} entry[MAX_ENTRIES];
};

static struct report *my_report;
static pthread_barrier_t all_here;
static int my_pages;
static int64_t begun_ns;

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

/* Report, and end this LWP without one more fault. */
static inline void say_and_exit(void)
{
	unsigned i = __atomic_fetch_add(&my_report->n, 1, __ATOMIC_RELAXED);
	volatile struct entry *e = &my_report->entry[i];
	struct rusage r;

	/* What is written below is here already. */
	memset(&r, 1, sizeof(r));
	__asm__ volatile("" ::"r"(&r) : "memory");
	*e = (struct entry){.tid = (pid_t)syscall(SYS_gettid)};
	e->wall_ns = (uint64_t)(clock_ns(CLOCK_MONOTONIC) - begun_ns);
	getrusage(RUSAGE_THREAD, &r);
	e->switches = (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
	e->faults = (uint64_t)(r.ru_minflt + r.ru_majflt);
	syscall(SYS_exit, 0);
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

static inline void *spinner(void *arg)
{
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < (intptr_t)arg * 1000000)
		;
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

static inline int work(const char *name, int n, int fd)
{
	static const struct {
		const char *name;
		int (*run)(int n);
	} works[] = {
		{"threads", work_threads},	 {"forks", work_forks},
		{"vforks", work_vforks},	 {"ping-pong", work_ping_pong},
		{"migrations", work_migrations}, {"spin", work_spin},
	};

	begun_ns = clock_ns(CLOCK_MONOTONIC);
	my_report = mmap(NULL, sizeof(*my_report), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (my_report == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, name) == 0)
			return works[i].run(n);
	return 2;
}

#endif /* LWPS_WORK_H */
