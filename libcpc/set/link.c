/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * link.c - the set of the calling LWP.
 *
 * Any LWP may unbind a set, but only its owner looks at and changes what it has for its
 * own, without a lock, so that it can do so in a signal handler.
 */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

_Thread_local _Atomic(struct cpci_link *) cpci_link_mine;
static pthread_key_t key; /* calls us when an LWP ends */
static int no_key;	  /* why there is none */

struct cpci_link *cpci_link_new(void)
{
	struct cpci_link *link = calloc(1, sizeof(*link));

	if (link != NULL)
		link->refs = 1; /* the set's */
	return link;
}

static void free_alone(struct cpci_link *link)
{
	free(link);
}

void cpci_link_drop(struct cpci_link *link)
{
	if (atomic_fetch_sub(&link->refs, 1) == 1)
		(link->free != NULL ? link->free : free_alone)(link);
}

/*
 * Another LWP's handler may have found the set just before.  It has all signals blocked and
 * waits for nobody, so it is soon over.  Either it finds no set, or we see it at work: both
 * sides write first and then look, in one order for all (memory_order_seq_cst).
 */
void cpci_link_hide(struct cpci_link *link)
{
	if (link == NULL)
		return;
	link->set = NULL;
	while (link != cpci_link_mine && link->in_use)
		sched_yield();
}

void cpci_link_cut(struct cpc_set *set)
{
	if (set->link == NULL)
		return;
	set->link->set = NULL;
	cpci_link_drop(set->link);
	set->link = NULL;
}

cpc_set_t *cpci_link_copy(const cpc_set_t *set)
{
	cpc_set_t *own = cpci_link_own();

	return own != NULL && own->origin == set ? own : (cpc_set_t *)(uintptr_t)set;
}

bool cpci_link_is_own(const struct cpci_link *link)
{
	return link == cpci_link_mine;
}

/* ---- the end of an LWP ---------------------------------------------------------------- */

/*
 * Destructors are called in rounds until none is left, in PTHREAD_DESTRUCTOR_ITERATIONS rounds
 * at most.  Ours waits, so that what those of the program do is counted, but not for the last
 * round: in that the sanitizers' runtimes end the thread, perhaps before ours is called.
 */
#define ROUNDS (PTHREAD_DESTRUCTOR_ITERATIONS - 1)

/*
 * No other LWP may sample the set that this one has bound.  Keep a set that others inherited: they
 * go on, and its counts are added to theirs.
 */
static void unbind_own(void)
{
	int cancel = cpci_lock();
	cpc_set_t *set = cpci_link_own();

	if (set != NULL && set->origin == set && set->family == NULL)
		set->link->unbind(set);
	cpci_unlock(cancel);
}

static void lwp_ends(void *arg)
{
	struct cpci_link *link = cpci_link_mine;
	uintptr_t round = (uintptr_t)arg;

	if (round < ROUNDS && pthread_setspecific(key, (void *)(round + 1)) == 0)
		return;
	unbind_own();
	cpci_link_mine = NULL;
	if (link != NULL)
		cpci_link_drop(link);
}

static void make_key(void)
{
	no_key = pthread_key_create(&key, lwp_ends);
}

int cpci_link_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
	if (no_key == 0 && pthread_getspecific(key) != NULL)
		return 0;
	errno = no_key != 0 ? no_key : pthread_setspecific(key, (void *)1);
	return errno == 0 ? 0 : -1;
}

void cpci_link_set_own(struct cpci_link *link)
{
	struct cpci_link *before = cpci_link_mine;

	link->refs++;
	cpci_link_mine = link;
	if (before != NULL)
		cpci_link_drop(before);
}
