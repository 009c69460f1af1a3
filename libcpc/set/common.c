/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * common.c - what all sets of all handles share, and all of a handle.
 */
#include "set.h"

static pthread_mutex_t lock;

/* Recursive. */
static void make_lock(void)
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

	pthread_once(&once, make_lock);
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
	make_lock();
}

void cpci_fill_mask(sigset_t *mask)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	sigfillset(mask);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(mask, own[i]);
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

const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag)
{
	struct cpci_defs *defs = cpc->defs;
	bool first;
	int cancel;

	if (defs != NULL)
		return defs;
	cancel = cpci_lock();
	first = cpc->defs == NULL;
	if (first)
		cpc->defs = cpci_defs_new(diag);
	defs = cpc->defs;
	cpci_unlock(cancel);
	for (size_t i = 0; first && defs != NULL && i < defs->nwarnings; i++)
		cpci_warn(cpc, fn, defs->warning[i]);
	return defs;
}

void cpci_tell_vendor(cpc_t *cpc, const char *fn)
{
	static atomic_int told;
	const struct cpci_defs *vendor = cpci_vendor_loaded();

	if (vendor == NULL || atomic_exchange(&told, true))
		return;
	for (size_t i = 0; i < vendor->nwarnings; i++)
		cpci_warn(cpc, fn, vendor->warning[i]);
}
