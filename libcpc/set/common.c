/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * common.c - the event definitions of a handle, and warnings about them.
 */
#include "set.h"

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

void cpci_warn_vendor(cpc_t *cpc, const char *fn)
{
	static atomic_int warned;
	const struct cpci_defs *vendor = cpci_vendor_loaded();

	if (vendor == NULL || atomic_exchange(&warned, true))
		return;
	for (size_t i = 0; i < vendor->nwarnings; i++)
		cpci_warn(cpc, fn, vendor->warning[i]);
}
