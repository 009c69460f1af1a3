/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * work.h - what the workloads share: chores with a known count, threads, modes.
 *
 * A chore is -p PAGES and -s CALLS (both 0 unless given).  An LWP that does it
 *   touches exactly PAGES fresh pages, each one a page fault in user mode;
 *   calls getpriority(2) exactly CALLS times.  Nothing else in these programs, in
 *   libc's start-up or in a shell calls it.
 * So syscalls:sys_enter_getpriority is CALLS to the last one, and page-faults is
 * PAGES and the few that running any code costs: stack, first use of a function.
 */
#ifndef WORK_H
#define WORK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define WORK_BROKEN 111 /* exit status: the workload itself could not do its work */
#define WORK_STACK (256L * 1024)

struct chore {
	long pages;
	long calls;
};

__attribute__((noreturn)) static inline void broken(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	_exit(WORK_BROKEN);
}

static inline long number(const char *s)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (end == s || *end != '\0' || n < 0)
		errno = EINVAL;
	if (errno != 0)
		broken(s);
	return n;
}

/* The operand that is left after the options. */
static inline long operand(int argc, char *const argv[], int i)
{
	if (i != argc - 1) {
		errno = EINVAL;
		broken("one operand, please");
	}
	return number(argv[i]);
}

/* Options -p and -s; false: `opt` is not one of them. */
static inline bool chore_option(struct chore *chore, int opt, const char *arg)
{
	if (opt == 'p')
		chore->pages = number(arg);
	else if (opt == 's')
		chore->calls = number(arg);
	else
		return false;
	return true;
}

/*
 * Fresh memory.  A sanitizer's own mmap(2) would touch pages that it keeps books in.  On s390x the
 * system call takes a struct.
 */
static inline void *map_fresh(size_t size)
{
#if defined(__s390x__)
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
	return (void *)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
}

/* One fault per page: no huge pages, nothing that was mapped before. */
static inline void touch_pages(long pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)pages * page;
	volatile char *mem;

	if (pages == 0)
		return;
	mem = map_fresh(size);
	if (mem == MAP_FAILED)
		broken("mmap");
	madvise((void *)mem, size, MADV_NOHUGEPAGE); /* fails on kernels without them */
	for (size_t at = 0; at < size; at += page)
		mem[at] = 1;
	syscall(SYS_munmap, mem, size);
}

static inline void do_chore(const struct chore *chore)
{
	for (long i = 0; i < chore->calls; i++)
		syscall(SYS_getpriority, PRIO_PROCESS, 0);
	touch_pages(chore->pages);
}

static inline void *chore_thread(void *arg)
{
	do_chore(arg);
	return NULL;
}

/* A thread with a small stack, so that thousands fit.  Returns 0 or an errno. */
static inline int try_thread(pthread_t *thread, int detached, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORK_STACK);
	pthread_attr_setdetachstate(&attr, detached);
	error = pthread_create(thread, &attr, fn, arg);
	pthread_attr_destroy(&attr);
	return error;
}

static inline pthread_t start_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	errno = try_thread(&thread, PTHREAD_CREATE_JOINABLE, fn, arg);
	if (errno != 0)
		broken("pthread_create");
	return thread;
}

/* An expectation of the workload.  The first one that fails ends it with status 1. */
static inline void must(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDOUT_FILENO, "FAIL: %s\n", what);
	_exit(1);
}

/* A mode of a workload, by its name. */
struct mode {
	const char *name;
	void (*run)(void);
};

/* Runs the mode that the only argument names.  Prints PASS; must() prints FAIL and why. */
static inline int run_mode(const struct mode *mode, size_t n, int argc, char *const argv[])
{
	for (size_t i = 0; argc == 2 && i < n; i++) {
		if (strcmp(mode[i].name, argv[1]) == 0) {
			mode[i].run();
			dprintf(STDOUT_FILENO, "PASS\n");
			return 0;
		}
	}
	errno = EINVAL;
	broken("no such mode");
}

#define RUN_MODE(modes, argc, argv) run_mode(modes, sizeof(modes) / sizeof((modes)[0]), argc, argv)

/* fork(2); the child does not outlive its parent. */
static inline pid_t fork_dependent(void)
{
	const pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(WORK_BROKEN);
	}
	return pid;
}

/* The calling LWP runs on this CPU from now on. */
static inline void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == -1)
		broken("sched_setaffinity");
}

/* Writes a line without buffering: a test waits for it. */
static inline void say(const char *line)
{
	size_t len = strlen(line);

	if (write(STDOUT_FILENO, line, len) != (ssize_t)len)
		broken("stdout");
}

/* Wait until the test closes our standard input. */
static inline void wait_eof(void)
{
	char c;
	ssize_t n;

	do
		n = read(STDIN_FILENO, &c, 1);
	while (n == 1 || (n == -1 && errno == EINTR));
}

#endif /* WORK_H */
