/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * link.c - how an LWP finds the set that counts it.
 *
 * Any LWP may unbind a set.  But only the LWP itself reads and replaces its cpci_link_mine, without
 * a lock, so that its signal handlers can do so, too.
 */
#include "set.h"

#include <stdlib.h>

_Thread_local _Atomic(struct cpci_link *) cpci_link_mine;

struct cpci_link *cpci_link_new(void)
{
	struct cpci_link *link = calloc(1, sizeof(*link));

	if (link != NULL)
		link->refs = 1; /* that of the set */
	return link;
}

void cpci_link_drop(struct cpci_link *link)
{
	if (atomic_fetch_sub(&link->refs, 1) != 1)
		return;
	if (link->free != NULL)
		link->free(link);
	else
		free(link);
}

/*
 * If the set is bound to another LWP, a signal handler of that LWP may have found it just before.
 * The handler sets `in_use` and then reads `set`; we clear `set` and then read `in_use`.  All of
 * this is sequentially consistent (memory_order_seq_cst): either the handler finds no set, or we
 * see that the set is in use.  The handler ends soon: it blocks all signals and never waits.
 */
void cpci_link_hide(struct cpci_link *link)
{
	if (link == NULL)
		return;
	link->set = NULL;
	while (link != cpci_link_mine && link->in_use)
		sched_yield();
}

cpc_set_t *cpci_link_copy(const cpc_set_t *set)
{
	cpc_set_t *own = cpci_link_own();

	return own != NULL && own->origin == set ? own : (cpc_set_t *)(uintptr_t)set;
}

void cpci_link_set_own(struct cpci_link *link)
{
	struct cpci_link *before = cpci_link_mine;

	link->refs++;
	cpci_link_mine = link;
	if (before != NULL)
		cpci_link_drop(before);
}
