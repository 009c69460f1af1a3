/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* valid.c - which pointers are handles, sets, buffers and ratios. */
#include "set.h"

#include <errno.h>

struct known cpci_known_handles, cpci_known_sets, cpci_known_bufs, cpci_known_ratios;

int cpci_refuse(cpc_t *cpc, const char *fn, const void *p, const char *what)
{
	/* Programs destroy what they may not have made: that needs no message. */
	if (p == NULL || cpci_check_handle(cpc) == -1)
		return cpci_errno(EINVAL);
	return cpci_failf(cpc, fn, EINVAL, 0, "not a %s of this handle, or destroyed", what);
}

int cpci_check_set(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	return cpci_is_set(cpc, set) ? 0 : cpci_refuse(cpc, fn, set, "set");
}

cpc_set_t *cpci_bound_set(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	cpc_set_t *own;

	if (cpci_check_set(cpc, fn, set) == -1)
		return NULL;
	own = cpci_link_copy(set);
	if (own->bound != CPCI_UNBOUND)
		return own;
	cpci_failf(cpc, fn, EINVAL, 0, "the set is not bound");
	return NULL;
}
