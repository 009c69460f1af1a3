/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * twin.c - a set that several LWPs bind to themselves has counters for each of them.
 *
 * The first LWP has those of the set.  Each other one has those of a twin, a set with the same
 * requests that the program does not see: it passes the set, and the library uses the calling
 * LWP's twin.  A twin that is unbound serves the next LWP; all are freed with their set.
 */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Does it count for no LWP? */
static bool is_free(const cpc_set_t *set)
{
	return set->bound != CPCI_LWP ||
	       (cpci_owner_is_gone(set) && cpci_family_is_alone(set->family));
}

/* A twin that no LWP uses, perhaps a new one; NULL: out of memory. */
static cpc_set_t *free_twin(cpc_set_t *set)
{
	cpc_set_t *twin;

	LIST_FOREACH(twin, &set->twins, entry) {
		if (is_free(twin))
			return twin;
	}
	twin = calloc(1, sizeof(*twin));
	if (twin == NULL)
		return NULL;
	twin->cpc = set->cpc;
	twin->origin = set;
	LIST_INSERT_HEAD(&set->twins, twin, entry);
	return twin;
}

/* Gives a twin the requests that its set has now.  -1: out of memory. */
static int update(cpc_set_t *twin, const cpc_set_t *set)
{
	const size_t size = set->plan->nreqs * sizeof(*set->preset);
	uint64_t *preset = realloc(twin->preset, size);

	if (preset == NULL)
		return -1;
	memcpy(preset, set->preset, size);
	twin->preset = preset;
	cpci_plan_drop(twin->plan);
	twin->plan = cpci_plan_hold(set->plan);
	return 0;
}

cpc_set_t *cpci_twin(cpc_set_t *set)
{
	cpc_set_t *twin = cpci_link_copy(set);

	if (twin == set || twin->copy) {
		if (is_free(set) || set->owner == cpci_self())
			return set;
		twin = free_twin(set);
	}
	return twin != NULL && update(twin, set) == 0 ? twin : NULL;
}

void cpci_twins_free(cpc_set_t *set)
{
	cpc_set_t *twin;

	while ((twin = LIST_FIRST(&set->twins)) != NULL) {
		if (twin->bound != CPCI_UNBOUND)
			cpci_unbind(twin);
		LIST_REMOVE(twin, entry);
		cpci_plan_drop(twin->plan);
		free(twin->preset);
		free(twin->start);
		free(twin->pic);
		free(twin);
	}
}
