/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* unbind.c - unbinds sets: by cpc_unbind(), in a forked child, at the exit of their LWP. */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* With `later`, slow closes run in the background, because a program may unbind many sets. */
static void release(struct cpc_set *set, bool later)
{
	cpci_group_unmap(set->plan, set->page);
	set->page = NULL;
	cpci_pics_unmap(set);
	if (set->link != NULL) {
		set->link->set = NULL; /* in a forked child it is not hidden yet */
		cpci_link_drop(set->link);
		set->link = NULL;
	}
	(later ? cpci_group_close_later : cpci_group_close)(set->plan, set->fd);
	cpci_pcbuf_close(set->pcbuf);
	free(set->overflow);
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
	set->lwps = false;
	free(set->affinity);
	set->affinity = NULL;
}

void cpci_unbind(struct cpc_set *set)
{
	bool later = set->bound == CPCI_PCTX || set->bound == CPCI_CPU_REMOTE;

	if (set->copy) {
		cpci_copy_unbind(set);
		return;
	}
	cpci_set_stop(set);
	cpci_family_end(set);
	/* This fails only if the CPUs no longer exist; then the kernel has chosen others. */
	if (set->affinity != NULL && set->owner == cpci_self())
		sched_setaffinity(0, CPCI_AFFINITY_SIZE, set->affinity);
	release(set, later);
}

void cpci_unbind_forked(struct cpc_set *set)
{
	set->bound = CPCI_UNBOUND;
	cpci_family_end(set);
	if (set->pcbuf != NULL)
		cpci_pcbuf_forked(set->pcbuf);
	release(set, false); /* the child stays on its parent's CPU */
}

int cpc_unbind(cpc_t *cpc, cpc_set_t *set)
{
	static const char fn[] = "cpc_unbind";
	bool bound, other;

	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	cpci_lock();
	set = cpci_link_copy(set);
	bound = set->bound != CPCI_UNBOUND;
	/* A set of several LWPs is unbound by each for itself. */
	other = set->bound == CPCI_LWP && !LIST_EMPTY(&set->twins) && set->owner != cpci_self() &&
		!cpci_owner_is_gone(set);
	if (bound && !other)
		cpci_unbind(set);
	cpci_unlock();
	return bound && !other ? 0
			       : cpci_failf(cpc, fn, EINVAL, 0, "the set is not bound%s",
					    other ? " to the calling LWP" : "");
}

/* ---- at the exit of an LWP --------------------------------------------------------------- */

static pthread_key_t exit_key; /* its destructor runs when an LWP exits */
static int no_exit_key;	       /* the errno of creating it */

/*
 * The C library calls the destructors of keys in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds.  Ours
 * waits for the round before the last, so that the program's destructors are counted.  It does not
 * wait for the last round: the sanitizers' runtimes end the thread in that round, perhaps before
 * they call our destructor.
 */
#define ROUNDS (PTHREAD_DESTRUCTOR_ITERATIONS - 1)

static void on_exit_of_lwp(void *arg)
{
	struct cpci_link *link = cpci_link_mine;
	uintptr_t round = (uintptr_t)arg;
	cpc_set_t *set;

	if (round < ROUNDS && pthread_setspecific(exit_key, (void *)(round + 1)) == 0)
		return;
	cpci_lock();
	/*
	 * Now no LWP could sample the set.  But a set that LWPs inherited stays bound: they
	 * continue to count, and its counts are part of their sum.  The sum of a twin is known
	 * only to LWPs with a copy of it.
	 */
	set = cpci_link_own();
	if (set != NULL && !set->copy &&
	    (set->family == NULL || (set->origin != set && cpci_family_is_alone(set->family))))
		cpci_unbind(set);
	cpci_unlock();
	cpci_link_mine = NULL;
	if (link != NULL)
		cpci_link_drop(link);
}

static void make_exit_key(void)
{
	no_exit_key = pthread_key_create(&exit_key, on_exit_of_lwp);
}

int cpci_unbind_at_exit(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_exit_key);
	if (no_exit_key == 0 && pthread_getspecific(exit_key) != NULL)
		return 0;
	errno = no_exit_key != 0 ? no_exit_key : pthread_setspecific(exit_key, (void *)1);
	return errno == 0 ? 0 : -1;
}
