/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* lock.c - the library's lock, and blocking of signals. */
#include "sys.h"

static pthread_mutex_t lock;

static void init_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void acquire(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_lock);
	pthread_mutex_lock(&lock);
}

int cpci_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	acquire();
	return cancel;
}

void cpci_unlock(int cancel)
{
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
}

void cpci_lock_before_fork(void)
{
	acquire();
}

void cpci_lock_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

void cpci_lock_in_child(void)
{
	init_lock();
}

void cpci_fill_mask(sigset_t *mask)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	sigfillset(mask);
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigdelset(mask, fatal[i]);
}

void cpci_block_signals(sigset_t *old)
{
	sigset_t mask;

	cpci_fill_mask(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, old);
}

void cpci_unblock_signals(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}
