/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * control.c - counters are switched off and on: by the LWP that they count, or by
 * whoever controls it.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <stdlib.h>

/*
 * A set that an LWP bound to itself.  The set and the LWP share it, and it goes with the
 * later of the two: any LWP may unbind a set, but only its owner changes and walks the
 * list of its own, without a lock, so that it can do so in a signal handler.
 */
struct cpci_own {
	_Atomic(cpc_set_t *) set; /* NULL: unbound */
	atomic_uint refs;
	struct cpci_own *next;
};

/* Of this model because others are allocated at their first use, if in a signal handler. */
static _Thread_local struct cpci_own *mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key; /* calls us when an LWP ends */

static void drop(struct cpci_own *own)
{
	if (atomic_fetch_sub(&own->refs, 1) == 1)
		free(own);
}

/* Forgets own sets that are no longer bound, or all. */
static void forget(bool all)
{
	struct cpci_own **at = &mine, *own;

	while ((own = *at) != NULL) {
		if (all || own->set == NULL) {
			*at = own->next;
			drop(own);
		} else {
			at = &own->next;
		}
	}
}

static void lwp_ends(void *arg)
{
	(void)arg;
	forget(true);
}

static void make_key(void)
{
	pthread_key_create(&key, lwp_ends);
}

struct cpci_own *cpci_own_new(void)
{
	struct cpci_own *own = calloc(1, sizeof(*own));

	if (own != NULL)
		own->refs = 1;
	return own;
}

void cpci_own_add(struct cpci_own *own, struct cpc_set *set)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
	pthread_setspecific(key, &mine);
	forget(false);
	set->own = own;
	own->set = set;
	own->refs = 2;
	own->next = mine;
	mine = own;
}

void cpci_own_remove(struct cpc_set *set)
{
	if (set->own == NULL)
		return;
	set->own->set = NULL;
	drop(set->own);
	set->own = NULL;
}

/* A forked child has its parent's list, but not its sets. */
static cpc_set_t *own_set(const cpc_t *cpc)
{
	for (const struct cpci_own *own = mine; own != NULL; own = own->next) {
		cpc_set_t *set = own->set;

		if (set != NULL && set->cpc == cpc && set->owner == cpci_self())
			return set;
	}
	return NULL;
}

static int switch_counters(cpc_set_t *set, bool on)
{
	set->off = !on;
	if (cpci_pass_holds(&set->pass, cpci_now()))
		return cpci_group_switch(set->plan, set->fd, on);
	errno = EAGAIN;
	return -1;
}

static int switch_lwp(const cpc_t *cpc, bool on)
{
	cpc_set_t *set = own_set(cpc);

	if (set != NULL)
		return switch_counters(set, on);
	if (pctx_request(on ? CPC_CALL_ENABLE : CPC_CALL_DISABLE) == 0)
		return 0;
	if (errno != EAGAIN)
		errno = EINVAL;
	return -1;
}

int cpc_enable(cpc_t *cpc)
{
	return switch_lwp(cpc, true);
}

int cpc_disable(cpc_t *cpc)
{
	return switch_lwp(cpc, false);
}

static int switch_set(cpc_t *cpc, const char *fn, cpc_set_t *set, bool on)
{
	if (set->cpc != cpc || set->bound != CPCI_PCTX)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "the set is not bound by cpc_bind_pctx()");
	if (switch_counters(set, on) == -1)
		return cpci_failf(cpc, fn, errno, 0,
				  "the set lost its counters to others, or was invalidated");
	return 0;
}

int cpc_set_enable(cpc_t *cpc, cpc_set_t *set)
{
	return switch_set(cpc, "cpc_set_enable", set, true);
}

int cpc_set_disable(cpc_t *cpc, cpc_set_t *set)
{
	return switch_set(cpc, "cpc_set_disable", set, false);
}
