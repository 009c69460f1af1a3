/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * link.c - the set of the calling LWP.
 *
 * Any LWP may unbind a set, but only its owner reads and changes its own link, without a
 * lock, so that signal handlers can do so.
 */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

_Thread_local _Atomic(struct cpci_link *) cpci_link_mine;
static pthread_key_t key; /* its destructor runs when an LWP exits */
static int no_key;	  /* why there is no key */

struct cpci_link *cpci_link_new(void)
{
	struct cpci_link *link = calloc(1, sizeof(*link));

	if (link != NULL)
		link->refs = 1; /* that of the set */
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
 * Another LWP's signal handler may have found the set just before.  It has all signals
 * blocked and does not wait, so it ends soon.  Either it finds no set, or we see that it is
 * in use: both sides write first and then read, sequentially consistent
 * (memory_order_seq_cst).
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

/* ---- the exit of an LWP --------------------------------------------------------------- */

/*
 * The C library calls destructors in at most PTHREAD_DESTRUCTOR_ITERATIONS rounds, until none
 * is left.  Ours waits, so that the program's destructors are counted, but not until the last
 * round: in that the sanitizers' runtimes end the thread, perhaps before our destructor.
 */
#define ROUNDS (PTHREAD_DESTRUCTOR_ITERATIONS - 1)

/*
 * Unbinds the set of the LWP, because no other LWP may sample it.  A set that other LWPs
 * inherited stays: it goes on, and its counts are added to theirs.
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
