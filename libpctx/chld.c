/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * chld.c - SIGCHLD, by which the kernel announces reports to a loop.
 *
 * Each thread may have a loop, but the action of SIGCHLD and pending SIGCHLDs belong to the
 * process.  So a thread that waits for SIGCHLD can take one that is meant for another thread.
 */
#include "chld.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	pthread_mutex_t mutex;
	pid_t pid; /* a forked child has none of the parent's loops */
	LIST_HEAD(pctxi_loops, pctxi_loop) loops;
	unsigned ncatching;
	struct sigaction old;  /* the action before the first loop */
	struct sigaction idle; /* the action before the first pctxi_chld_catch() */
} chld = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
	pthread_mutex_lock(&chld.mutex);
	if (chld.pid == getpid())
		return;
	chld.pid = getpid();
	chld.ncatching = 0;
	LIST_INIT(&chld.loops);
}

static void unlock(void)
{
	pthread_mutex_unlock(&chld.mutex);
}

void pctxi_chld_hold(struct pctxi_loop *loop)
{
	const struct sigaction dfl = {.sa_handler = SIG_DFL};

	lock();
	if (LIST_EMPTY(&chld.loops))
		sigaction(SIGCHLD, &dfl, &chld.old);
	LIST_INSERT_HEAD(&chld.loops, loop, all);
	loop->old_chld = chld.old;
	unlock();
}

void pctxi_chld_release(struct pctxi_loop *loop)
{
	struct pctxi_loop *known;

	lock();
	LIST_FOREACH(known, &chld.loops, all) {
		if (known != loop)
			continue;
		LIST_REMOVE(loop, all);
		if (LIST_EMPTY(&chld.loops))
			sigaction(SIGCHLD, &chld.old, NULL);
		break;
	}
	unlock();
}

void pctxi_chld_catch(void (*handler)(int sig, siginfo_t *info, void *context))
{
	const struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};

	lock();
	if (chld.ncatching++ == 0)
		sigaction(SIGCHLD, &act, &chld.idle);
	unlock();
}

void pctxi_chld_catch_end(void)
{
	lock();
	if (chld.ncatching > 0 && --chld.ncatching == 0)
		sigaction(SIGCHLD, &chld.idle, NULL);
	unlock();
}

void pctxi_chld_pass_on(const struct pctxi_loop *loop, const siginfo_t *info)
{
	const struct pctxi_loop *other;

	if (info->si_code <= 0) /* another thread passed it on; it is not from the kernel */
		return;
	lock();
	LIST_FOREACH(other, &chld.loops, all) {
		if (other != loop)
			syscall(SYS_tgkill, chld.pid, other->owner, SIGCHLD);
	}
	unlock();
}

static sigset_t only_chld(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return set;
}

void pctxi_chld_mask(int how, sigset_t *old)
{
	const sigset_t set = only_chld();

	pthread_sigmask(how, &set, old);
}

int pctxi_chld_wait(const struct pctxi_loop *loop, const struct timespec *timeout)
{
	const sigset_t set = only_chld();
	siginfo_t info;

	if (sigtimedwait(&set, &info, timeout) == -1)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	pctxi_chld_pass_on(loop, &info);
	return 0;
}
