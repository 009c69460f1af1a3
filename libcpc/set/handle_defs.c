/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* handle_defs.c - the event definitions of a handle, and warnings about them. */
#include "set.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Adds a name to those of which a warning was given.  False: it is there. */
static bool note_name(const char *name)
{
	static void *names;
	char *copy = strdup(name);
	char *const *found;
	bool there;

	cpci_lock();
	found = copy != NULL ? tsearch(copy, &names, compare_names) : NULL;
	there = found != NULL && *found != copy;
	cpci_unlock();
	if (there || found == NULL)
		free(copy);
	return !there;
}

/* Lists the kinds of cores that lack an event, or those that have it. */
static void list_kinds(const struct cpci_event *event, bool lack, char *list, size_t size)
{
	const struct cpci_cores *all = cpci_cores();
	size_t n = 0;

	for (size_t k = 0; k < all->n && n < size; k++) {
		if (((event->lacking >> k & 1) != 0) == lack)
			n += (size_t)snprintf(list + n, size - n, "%s%s", n > 0 ? ", " : "",
					      all->core[k].name);
	}
}

void cpci_warn_kinds(cpc_t *cpc, const char *fn, const char *name, const struct cpci_event *event)
{
	char have[256] = "", lack[256] = "";
	struct cpci_diag diag;

	if (event->lacking == 0 || !note_name(name))
		return;
	list_kinds(event, false, have, sizeof(have));
	list_kinds(event, true, lack, sizeof(lack));
	cpci_diag(&diag, 0, CPC_WARNING, "'%s' is counted on %s only: %s does not have it", name,
		  have, lack);
	cpci_warn(cpc, fn, diag.text);
}
