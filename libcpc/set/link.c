/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * link.c - the set of the calling LWP.
 *
 * Any LWP may unbind a set, but only its owner looks at and changes what it has for its
 * own, without a lock, so that it can do so in a signal handler.
 */
#include "set.h"

#include <stdlib.h>

/* Of this model because others are allocated at their first use, if in a signal handler. */
static _Thread_local _Atomic(struct cpci_link *) mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key; /* calls us when an LWP ends */

struct cpci_link *cpci_link_new(void)
{
	struct cpci_link *link = calloc(1, sizeof(*link));

	if (link != NULL)
		link->refs = 1; /* the set's */
	return link;
}

void cpci_link_drop(struct cpci_link *link)
{
	if (atomic_fetch_sub(&link->refs, 1) == 1)
		free(link);
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
	while (link != mine && link->in_use)
		sched_yield();
}

struct cpci_link *cpci_link_enter(void)
{
	struct cpci_link *link = mine;

	if (link != NULL)
		link->in_use = true;
	return link;
}

void cpci_link_leave(struct cpci_link *link)
{
	link->in_use = false;
}

void cpci_link_cut(struct cpc_set *set)
{
	if (set->link == NULL)
		return;
	set->link->set = NULL;
	cpci_link_drop(set->link);
	set->link = NULL;
}

cpc_set_t *cpci_link_own(void)
{
	struct cpci_link *link = mine;

	return link != NULL ? link->set : NULL;
}

static void lwp_ends(void *arg)
{
	struct cpci_link *link = mine;

	(void)arg;
	mine = NULL;
	if (link != NULL)
		cpci_link_drop(link);
}

static void make_key(void)
{
	pthread_key_create(&key, lwp_ends);
}

void cpci_link_set_own(struct cpci_link *link)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cpci_link *before = mine;

	pthread_once(&once, make_key);
	pthread_setspecific(key, &mine); /* any value but NULL: then it is called */
	link->refs++;
	mine = link;
	if (before != NULL)
		cpci_link_drop(before);
}
