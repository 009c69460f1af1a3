/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.c - the symbols that the breakpoints of a set name.
 */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int cpci_symbols_make(cpc_set_t *set, struct cpci_target target, uint_t flags,
		      struct cpci_bp_addr **bp, struct cpci_diag *diag)
{
	const struct cpci_plan *plan = set->plan;
	uint_t first = cpci_symbols_first(plan), missing;
	int n = 0;

	*bp = NULL;
	if (first == plan->nterms)
		return 0;
	if (target.tid == -1) {
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' on a CPU: a symbol is one of a program",
			  plan->req[plan->ref[first].req].name);
		return -1;
	}
	*bp = calloc(plan->nterms, sizeof(**bp));
	if (*bp == NULL) {
		cpci_diag_nomem(diag);
		return -1;
	}
	if ((flags & CPC_BIND_LATE) == 0)
		n = cpci_symbols_find(&set->cpc->symfiles, plan,
				      target.tid != 0 ? target.tid : cpci_self(), *bp, &missing,
				      diag);
	if (n == 0)
		return 0;
	free(*bp);
	if (n > 0)
		cpci_diag(diag, ENOENT, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the program has no symbol '%s'",
			  plan->req[plan->ref[missing].req].name,
			  cpci_plan_nth(plan, missing)->symbol);
	return -1;
}

/* Moves what is found now and was not before.  With the lock held. */
static int resolve(cpc_set_t *set, struct cpci_bp_addr *found, struct cpci_diag *diag)
{
	const struct cpci_target target = {.tid = set->target, .cpu = -1};
	const struct cpci_plan *plan = set->plan;
	uint_t missing;
	int n;

	memcpy(found, set->bp, plan->nterms * sizeof(*found));
	n = cpci_symbols_find(&set->cpc->symfiles, plan, set->target, found, &missing, diag);
	if (n == -1)
		return -1;
	for (uint_t i = 0; i < plan->nterms; i++) {
		if (found[i].addr == set->bp[i].addr)
			continue;
		if (cpci_group_move(plan, i, &found[i], set->fd[i], set->off) == -1) {
			cpci_explain(diag, errno, plan->req[plan->ref[i].req].name,
				     cpci_plan_nth(plan, i), target);
			return -1;
		}
		set->bp[i] = found[i];
	}
	return n;
}

int cpc_set_resolve(cpc_t *cpc, cpc_set_t *set)
{
	static const char fn[] = "cpc_set_resolve";
	struct cpci_bp_addr *found;
	struct cpci_diag diag;
	int n;

	if (set->cpc != cpc || set->bound == CPCI_UNBOUND)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "the set is not bound");
	if (set->bp == NULL)
		return 0;
	found = reallocarray(NULL, set->plan->nterms, sizeof(*found));
	if (found == NULL)
		return cpci_fail_nomem(cpc, fn);
	pthread_mutex_lock(&cpci_lock);
	n = resolve(set, found, &diag);
	pthread_mutex_unlock(&cpci_lock);
	free(found);
	return n == -1 ? cpci_fail(cpc, fn, &diag) : n;
}

void cpc_walk_symbols(cpc_t *cpc, const cpc_set_t *set, void *arg, cpc_walk_symbols_fn *action)
{
	const struct cpci_plan *plan = set->plan;

	(void)cpc;
	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);

		if (term->symbol[0] != '\0')
			action(arg, (int)plan->ref[i].req, term->symbol,
			       set->bp != NULL ? set->bp[i].addr : 0);
	}
}
