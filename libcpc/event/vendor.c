/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * vendor.c - the events that vendors list for their CPUs, in files that cpc-events(1) makes.
 *
 * There may be ten thousand, so the files are read only for a name that no other resolver
 * knows, or for a search.
 */
#include "event.h"

#include <bsd/stdlib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

static struct {
	struct cpci_defs *_Atomic defs; /* set once, never freed */
	struct cpci_diag why;		/* why they could not be read */
} vendor;

static int by_name(const void *a, const void *b)
{
	const struct cpci_def *x = a, *y = b;

	return strcasecmp(x->name, y->name);
}

/*
 * Sorts definitions by name.  Of each name the first one remains, in the order of folders, files
 * and lines: mergesort(3bsd) is stable.  -1 and errno: ENOMEM.
 */
static int sort(struct cpci_defs *defs)
{
	size_t all = defs->n;

	if (all > 0 && mergesort(defs->def, all, sizeof(*defs->def), by_name) == -1)
		return -1;
	defs->n = 0;
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || by_name(&defs->def[defs->n - 1], &defs->def[i]) != 0)
			defs->def[defs->n++] = defs->def[i];
	}
	return 0;
}

static void read_all(void)
{
	static const char *const dirs[] = {"/etc/cpc/events.d", "/usr/share/cpc/events.d"};
	const char *other = secure_getenv("CPC_EVENTS_DIR");
	struct cpci_defs *defs = other != NULL ? cpci_defs_read_dir(&other, 1, &vendor.why)
					       : cpci_defs_read_dir(dirs, 2, &vendor.why);

	if (defs == NULL)
		return;
	if (sort(defs) == 0) {
		vendor.defs = defs;
		return;
	}
	cpci_defs_free(defs);
	cpci_diag_nomem(&vendor.why);
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
	const struct cpci_def key = {.name = name};

	return defs->n > 0 ? bsearch(&key, defs->def, defs->n, sizeof(key), by_name) : NULL;
}

void cpci_vendor_walk(void *arg, cpci_walk_fn *action)
{
	struct cpci_diag diag;
	const struct cpci_defs *defs = cpci_vendor_defs(&diag);

	for (size_t i = 0; defs != NULL && i < defs->n; i++) {
		const struct cpci_def *def = &defs->def[i];

		if (def->error == NULL)
			action(arg, def->name, def->desc);
	}
}
