/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * closer.c - closes events of functions in the background: the kernel takes 50 to 100 ms for
 * each.
 *
 * Closing such an event waits until no CPU uses the probe any more, one event at a time for
 * the whole system.  So libcpc leaves this to a thread, which ends when it has nothing to do.
 * At the exit of the program, it leaves the rest to a process.
 *
 * While it closes, the kernel cannot open such events.  LWPs often come and go at the same time,
 * so the thread closes only when no event was added for a while.  But a pending event costs each
 * call of its function 0.2 us, so their number is limited.
 */
#include "perf.h"

#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_PENDING 1024 /* events waiting to be closed */
#define DRAIN_NOW 256	 /* with this many pending, do not wait for a quiet moment */
#define QUIET_NS 500000000LL

static struct {
	pthread_mutex_t lock;
	bool running;	   /* the thread exists */
	hrtime_t quiet_ns; /* when it may start closing */
	uint_t n;
	int fd[MAX_PENDING];
} closer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *closer_thread(void *arg)
{
	pthread_mutex_lock(&closer.lock);
	while (closer.n > 0) {
		hrtime_t wait_ns = closer.n < DRAIN_NOW ? closer.quiet_ns - cpci_now() : 0;
		const struct timespec wait = {.tv_nsec = (long)wait_ns};
		int fd = wait_ns <= 0 ? closer.fd[--closer.n] : -1;

		pthread_mutex_unlock(&closer.lock);
		if (fd == -1)
			nanosleep(&wait, NULL);
		else
			close(fd);
		pthread_mutex_lock(&closer.lock);
	}
	closer.running = false;
	pthread_mutex_unlock(&closer.lock);
	return arg;
}

/* Starts the thread.  The caller holds the lock. */
static bool start_thread(void)
{
	pthread_t thread;

	if (closer.running)
		return true;
	closer.running = cpci_thread_create(&thread, closer_thread, NULL) == 0;
	if (closer.running)
		pthread_detach(thread);
	return closer.running;
}

/* Pending files reduce the number of files that the program can open. */
static bool has_room(void)
{
	struct rlimit lim;

	return closer.n < MAX_PENDING &&
	       (getrlimit(RLIMIT_NOFILE, &lim) == -1 || closer.n < lim.rlim_cur / 4);
}

void cpci_closer_close(int fd)
{
	int err = errno;
	bool later;

	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	pthread_mutex_lock(&closer.lock);
	later = has_room();
	closer.quiet_ns = cpci_now() + QUIET_NS;
	if (later)
		closer.fd[closer.n++] = fd;
	if (later && !start_thread()) {
		closer.n--;
		later = false;
	}
	pthread_mutex_unlock(&closer.lock);
	if (!later)
		close(fd);
	errno = err;
}

void cpci_closer_before_fork(void)
{
	pthread_mutex_lock(&closer.lock);
}

void cpci_closer_after_fork(void)
{
	pthread_mutex_unlock(&closer.lock);
}

/* The child lacks the thread.  It can close the files at once: the parent has them open, too. */
void cpci_closer_forked(void)
{
	while (closer.n > 0)
		close(closer.fd[--closer.n]);
	closer.running = false;
	pthread_mutex_unlock(&closer.lock);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * The process that closes the events after the program's exit.  It closes all other files, so
 * that no reader of a pipe waits for it, and starts when its parent has closed the events.
 */
static _Noreturn void close_at_end(const int *fd, uint_t n, int parent_done)
{
	int next = 0;
	char byte;

	setsid();
	prctl(PR_SET_NAME, "cpc-closing");
	(void)!chdir("/"); /* do not keep a file system busy */
	while (read(parent_done, &byte, 1) == -1 && errno == EINTR)
		;
	for (uint_t i = 0; i < n; i++) {
		if (fd[i] > next)
			syscall(SYS_close_range, next, fd[i] - 1, 0);
		next = fd[i] + 1;
	}
	syscall(SYS_close_range, next, INT32_MAX, 0);
	_exit(0);
}

uint_t cpc_leave_closing(void)
{
	int fd[MAX_PENDING], parent_done[2];
	uint_t n;
	pid_t pid;

	pthread_mutex_lock(&closer.lock);
	n = closer.n;
	closer.n = 0;
	memcpy(fd, closer.fd, n * sizeof(*fd));
	pthread_mutex_unlock(&closer.lock);
	if (n == 0)
		return 0;
	qsort(fd, n, sizeof(*fd), by_number);
	/* Without that process, the kernel closes the events at the exit of this one. */
	if (!cpci_orphans_are_reaped() || pipe2(parent_done, O_CLOEXEC) == -1)
		return n;
	pid = fork();
	if (pid == 0) {
		close(parent_done[1]);
		close_at_end(fd, n, parent_done[0]);
	}
	for (uint_t i = 0; pid != -1 && i < n; i++)
		close(fd[i]);
	close(parent_done[0]);
	close(parent_done[1]);
	return pid != -1 ? 0 : n;
}
