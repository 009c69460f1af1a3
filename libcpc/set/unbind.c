/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* unbind.c - releases what a bound set holds. */
#include "set.h"

#include <errno.h>
#include <stdlib.h>

static void move_back(cpc_set_t *set)
{
	/* Fails only if the CPUs no longer exist; then the kernel has chosen others. */
	sched_setaffinity(0, set->affinity_size, set->affinity);
	CPU_FREE(set->affinity);
	set->affinity = NULL;
}

/* With `later`, slow closes run in the background: a program may unbind many sets. */
static void release(struct cpc_set *set, bool later)
{
	cpci_group_unmap(set->plan, set->page);
	set->page = NULL;
	cpci_pics_cut(set);
	cpci_link_cut(set);
	if (later)
		cpci_group_close_later(set->plan, set->fd);
	else
		cpci_group_close(set->plan, set->fd);
	cpci_pcbuf_close(set->pcbuf);
	cpci_overflow_free(set->overflow);
	cpci_symbol_addrs_free(set->bp, set->plan->nterms);
	cpci_family_drop(set->family);
	set->family = NULL;
	set->overflow = NULL;
	set->pcbuf = NULL;
	set->fd = NULL;
	set->bp = NULL;
	cpci_claim_drop(set->claim);
	set->claim = NULL;
	cpci_epoch_drop(&set->epoch);
}

void cpci_unbind(struct cpc_set *set)
{
	bool controlled = set->bound == CPCI_PCTX;
	bool later = controlled || set->bound == CPCI_CPU_REMOTE;
	sigset_t old;

	if (set->origin != set) {
		cpci_copy_unbind(set);
		return;
	}
	/* No signal handler must run for an overflow of a set that is half unbound. */
	if (set->plan->noverflows > 0)
		cpci_block_signals(&old);
	/* From now on a signal handler of this thread does not sample it. */
	set->bound = CPCI_UNBOUND;
	atomic_signal_fence(memory_order_release);
	cpci_link_hide(set->link);
	cpci_family_end(set);
	/* A child made by vfork(2) or clone(2) also has the files open, and may live long. */
	if (!controlled)
		cpci_group_stop(set->plan, set->fd);
	if (set->overflow != NULL)
		cpci_overflow_end(set);
	if (set->plan->noverflows > 0)
		cpci_unblock_signals(&old);
	release(set, later);
	if (set->affinity != NULL && set->owner == cpci_self())
		move_back(set);
	CPU_FREE(set->affinity);
	set->affinity = NULL;
}

void cpci_unbind_inherited(struct cpc_set *set)
{
	set->bound = CPCI_UNBOUND;
	cpci_family_end(set);
	if (set->pcbuf != NULL)
		cpci_pcbuf_forked(set->pcbuf);
	release(set, false);
	CPU_FREE(set->affinity); /* the child stays on its parent's CPU */
	set->affinity = NULL;
}

int cpc_unbind(cpc_t *cpc, cpc_set_t *set)
{
	bool ours = set->cpc == cpc, bound = false;
	int cancel;

	if (ours) {
		cancel = cpci_lock();
		set = cpci_link_copy(set);
		bound = set->bound != CPCI_UNBOUND;
		if (bound)
			cpci_unbind(set);
		cpci_unlock(cancel);
	}
	if (bound)
		return 0;
	return cpci_failf(cpc, "cpc_unbind", EINVAL, 0,
			  ours ? "the set is not bound" : "the set was made with another handle");
}
