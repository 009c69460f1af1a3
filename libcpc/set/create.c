/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* create.c - creates and destroys handles and sets. */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------- */

/* Unbinds a set, and removes it from those that exist.  False: it is not one of them. */
static bool remove_set(cpc_set_t *set)
{
	bool removed;

	cpci_lock();
	removed = known_remove(&cpci_known_sets, set);
	if (removed) {
		cpci_twins_free(set);
		if (set->bound != CPCI_UNBOUND)
			cpci_unbind(set);
		LIST_REMOVE(set, entry);
	}
	cpci_unlock();
	return removed;
}

static void free_set(cpc_set_t *set)
{
	cpci_plan_drop(set->plan);
	free(set->preset);
	free(set->start);
	free(set->pic);
	free(set);
}

/*
 * Makes an unbound set with the requests of `plan` and the values `preset` for them.  It takes
 * over the caller's reference to the plan, even if it fails.
 */
static cpc_set_t *new_set(cpc_t *cpc, const char *fn, struct cpci_plan *plan,
			  const uint64_t *preset)
{
	size_t n = plan != NULL ? plan->nreqs : 0;
	uint64_t *own = reallocarray(NULL, n + 1, sizeof(*own));
	cpc_set_t *set = calloc(1, sizeof(*set));
	bool known;

	if (plan == NULL || own == NULL || set == NULL) {
		cpci_plan_drop(plan);
		free(own);
		free(set);
		cpci_fail_nomem(cpc, fn);
		return NULL;
	}
	if (n > 0)
		memcpy(own, preset, n * sizeof(*own));
	set->cpc = cpc;
	set->origin = set;
	set->plan = plan;
	set->preset = own;
	cpci_lock();
	known = known_add(&cpci_known_sets, set);
	if (known)
		LIST_INSERT_HEAD(&cpc->sets, set, entry);
	cpci_unlock();
	if (known)
		return set;
	free_set(set);
	cpci_fail_nomem(cpc, fn);
	return NULL;
}

cpc_set_t *cpc_set_create(cpc_t *cpc)
{
	if (cpci_check_handle(cpc) == -1)
		return NULL;
	return new_set(cpc, "cpc_set_create", cpci_plan_new(), NULL);
}

cpc_set_t *cpc_set_dup(cpc_t *cpc, const cpc_set_t *set)
{
	static const char fn[] = "cpc_set_dup";

	if (cpci_check_set(cpc, fn, set) == -1)
		return NULL;
	return new_set(cpc, fn, cpci_plan_hold(set->plan), set->preset);
}

/* If it succeeds, it keeps errno, for callers that destroy a set because another call failed. */
int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set)
{
	int err = errno;

	if (!cpci_is_set(cpc, set) || !remove_set(set))
		return cpci_refuse(cpc, "cpc_set_destroy", set, "set");
	free_set(set);
	errno = err;
	return 0;
}

/* ---- handles ---------------------------------------------------------------------------- */

static LIST_HEAD(handles, cpc) handles = LIST_HEAD_INITIALIZER(handles);

/*
 * A forked child has its parent's memory, but counts nothing.  It closes the parent's files,
 * which would keep the counters in use after the parent unbinds.
 */
static void forked(void)
{
	cpc_t *cpc;
	cpc_set_t *set, *twin;

	cpci_unlock_in_child();
	cpci_self_forget();
	cpci_claims_forget();
	cpci_copies_forget();
	cpci_poller_forked();
	LIST_FOREACH(cpc, &handles, entry) {
		LIST_FOREACH(set, &cpc->sets, entry) {
			if (set->bound != CPCI_UNBOUND)
				cpci_unbind_forked(set);
			LIST_FOREACH(twin, &set->twins, entry) {
				if (twin->bound != CPCI_UNBOUND)
					cpci_unbind_forked(twin);
			}
		}
	}
}

static void watch_forks(void)
{
	/* pthread_atfork(3) takes the locks in reverse order of registration. */
	pthread_atfork(cpci_closer_before_fork, cpci_closer_after_fork, cpci_closer_forked);
	/* No fork during another thread's bind: the child would have files without a set. */
	pthread_atfork(cpci_lock, cpci_unlock, forked);
}

static cpc_t *new_handle(void)
{
	cpc_t *cpc;

	if (cpci_paranoid() == INT_MIN) {
		errno = ENOSYS;
		return NULL;
	}
	cpc = calloc(1, sizeof(*cpc));
	if (cpc == NULL)
		return NULL;
	if (!known_add(&cpci_known_handles, cpc)) {
		free(cpc);
		return NULL;
	}
	cpci_clock_start(&cpc->clock);
	LIST_INSERT_HEAD(&handles, cpc, entry);
	return cpc;
}

cpc_t *cpc_open(int ver)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cpc_t *cpc;

	if (ver != CPC_VER_CURRENT) {
		errno = EINVAL;
		return NULL;
	}
	pthread_once(&once, watch_forks);
	cpci_lock();
	cpc = new_handle();
	cpci_unlock();
	return cpc;
}

int cpc_close(cpc_t *cpc)
{
	cpc_set_t *set;
	cpc_buf_t *buf;

	if (cpci_check_handle(cpc) == -1)
		return -1;
	while ((set = LIST_FIRST(&cpc->sets)) != NULL)
		cpc_set_destroy(cpc, set);
	while ((buf = LIST_FIRST(&cpc->bufs)) != NULL)
		cpc_buf_destroy(cpc, buf);
	cpci_lock();
	known_remove(&cpci_known_handles, cpc);
	LIST_REMOVE(cpc, entry);
	cpci_defs_free(cpc->defs);
	cpci_walked_free(cpc->walked);
	cpci_symfiles_free(&cpc->symfiles);
	cpci_unlock();
	free(cpc);
	return 0;
}

static void terminate(const void *known, void *arg)
{
	const cpc_set_t *set = known;

	if (set->cpc == arg && set->bound == CPCI_PCTX)
		pctx_terminate(set->pctx);
}

void cpc_terminate(cpc_t *cpc)
{
	if (cpci_check_handle(cpc) == 0)
		known_each(&cpci_known_sets, terminate, cpc);
}

void cpc_seterrhndlr(cpc_t *cpc, cpc_errhndlr_t *errhndlr)
{
	if (cpci_check_handle(cpc) == 0)
		cpc->errhndlr = errhndlr;
}
