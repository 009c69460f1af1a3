/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* lock.c - the library's lock, and blocking of signals. */
#include "sys.h"

static pthread_mutex_t lock;
/* How often the holder has taken the lock, and the previous cancellation state of that thread. */
static unsigned depth;
static int cancel_before;

static void init_lock(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void cpci_lock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_once(&once, init_lock);
	pthread_mutex_lock(&lock);
	if (depth++ == 0)
		cancel_before = cancel;
}

void cpci_unlock(void)
{
	int cancel = cancel_before;
	bool is_last = --depth == 0;

	pthread_mutex_unlock(&lock);
	if (is_last)
		pthread_setcancelstate(cancel, NULL);
}

void cpci_unlock_in_child(void)
{
	init_lock();
	for (unsigned i = 0; i < depth; i++)
		pthread_mutex_lock(&lock);
	cpci_unlock();
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
