/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * common.c - what all sets of all handles share, and all of a handle.
 */
#include "set.h"

pthread_mutex_t cpci_lock = CPCI_LOCK_INITIALIZER;

void cpci_block_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void cpci_unblock_signals(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag)
{
	struct cpci_defs *defs;
	bool first;

	if (atomic_load(&cpc->defs) != NULL)
		return cpc->defs;
	/* Without the lock: the error handler may call us. */
	defs = cpci_defs_new(diag);
	if (defs == NULL)
		return NULL;
	pthread_mutex_lock(&cpci_lock);
	first = cpc->defs == NULL;
	if (first)
		cpc->defs = defs;
	pthread_mutex_unlock(&cpci_lock);
	for (size_t i = 0; first && i < defs->nwarnings; i++)
		cpci_warn(cpc, fn, defs->warning[i]);
	if (!first)
		cpci_defs_free(defs);
	return cpc->defs;
}

void cpci_tell_vendor(cpc_t *cpc, const char *fn)
{
	static atomic_bool told;
	const struct cpci_defs *vendor = cpci_vendor_loaded();

	if (vendor == NULL || atomic_exchange(&told, true))
		return;
	for (size_t i = 0; i < vendor->nwarnings; i++)
		cpci_warn(cpc, fn, vendor->warning[i]);
}
