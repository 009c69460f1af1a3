/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * vendor.c - the events that vendors list for their CPUs, in files that cpc-events(1) makes.
 *
 * There may be ten thousand, so the files are read only for a name that no other resolver
 * knows, or for a search.
 */
#include "event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct {
	struct cpci_defs *_Atomic defs; /* set once, never freed */
	struct cpci_diag why;		/* why they could not be read */
} vendor;

static int by_name(const void *a, const void *b)
{
	const struct cpci_def *x = a, *y = b;
	int rc = strcasecmp(x->name, y->name);

	/* The first definition of a name wins, in the order of folders, files and lines. */
	return rc != 0 ? rc : (x->order > y->order) - (x->order < y->order);
}

static void read_all(void)
{
	static const char *const dirs[] = {"/etc/cpc/events.d", "/usr/share/cpc/events.d"};
	const char *other = secure_getenv("CPC_EVENTS_DIR");
	struct cpci_defs *defs = other != NULL ? cpci_defs_read_dir(&other, 1, &vendor.why)
					       : cpci_defs_read_dir(dirs, 2, &vendor.why);

	if (defs == NULL)
		return;
	for (size_t i = 0; i < defs->n; i++)
		defs->def[i].order = i;
	if (defs->n > 0)
		qsort(defs->def, defs->n, sizeof(*defs->def), by_name);
	vendor.defs = defs;
}

const struct cpci_defs *cpci_vendor_defs(struct cpci_diag *diag)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
	if (vendor.defs == NULL)
		*diag = vendor.why;
	return vendor.defs;
}

const struct cpci_defs *cpci_vendor_loaded(void)
{
	return vendor.defs;
}

const struct cpci_def *cpci_vendor_find(const struct cpci_defs *defs, const char *name)
{
	size_t low = 0, high = defs->n;

	/* Binary search for the first name that is not less. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcasecmp(defs->def[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < defs->n && strcasecmp(defs->def[low].name, name) == 0 ? &defs->def[low] : NULL;
}

void cpci_vendor_walk(void *arg, cpci_walk_fn *action)
{
	struct cpci_diag diag;
	const struct cpci_defs *defs = cpci_vendor_defs(&diag);

	for (size_t i = 0; defs != NULL && i < defs->n; i++) {
		const struct cpci_def *def = &defs->def[i];

		if (def->error == NULL && (i == 0 || strcasecmp(def[-1].name, def->name) != 0))
			action(arg, def->name, def->desc);
	}
}
