/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* handle_defs.c - the event definitions of a handle, and warnings about them. */
#include "set.h"

const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag)
{
	struct cpci_defs *defs = cpc->defs;
	bool first;

	if (defs != NULL)
		return defs;
	cpci_lock();
	first = cpc->defs == NULL;
	if (first)
		cpc->defs = cpci_defs_new(diag);
	defs = cpc->defs;
	cpci_unlock();
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

void cpci_warn_redefined(cpc_t *cpc, const char *fn, const struct cpci_event *event)
{
	struct cpci_def *def = event->redefined;
	struct cpci_diag diag;

	if (def == NULL || atomic_exchange(&def->warned, true))
		return;
	cpci_diag(&diag, 0, CPC_WARNING, "'%s' is the definition of %s:%d, not the %s of that name",
		  def->name, def->file, def->line, event->replaced);
	cpci_warn(cpc, fn, diag.text);
}
