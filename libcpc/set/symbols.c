/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* symbols.c - the symbols that the events of a set name. */
#include "counter.h"
#include "set.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A set on a CPU has no process whose symbols could be searched. */
static int refuse_on_cpu(const struct cpci_plan *plan, uint_t i, struct cpci_diag *diag)
{
	bool function = cpci_perf_is_uprobe(&cpci_plan_nth(plan, i)->attr);

	return cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s' on a CPU: a symbol is one of a program%s",
			 plan->req[plan->ref[i].req].name,
			 function ? "; name its file by its path, func=/PATH:SYMBOL" : "");
}

static int refuse_missing(cpc_set_t *set, pid_t tid, uint_t i, bool mapped, struct cpci_diag *diag)
{
	const struct cpci_term *term = cpci_plan_nth(set->plan, i);
	const char *event = set->plan->req[set->plan->ref[i].req].name;
	char name[CPCI_SYMBOL_NAME], hint[CPCI_SYMBOL_HINT];

	cpci_symbol_name(term, name);
	cpci_symbols_hint(&set->cpc->symfiles, term, tid, hint);
	if (term->file[0] == '\0' || mapped)
		return cpci_diag(diag, ENOENT, CPC_RESOURCE_UNAVAIL,
				 "cannot count '%s': the program has no %s '%s'%s", event,
				 term->probe ? "probe" : "symbol", name, hint);
	return cpci_diag(diag, ENOENT, CPC_RESOURCE_UNAVAIL,
			 "cannot count '%s': the process has not loaded '%s'; what it loads later "
			 "is named by its path: /PATH/%s",
			 event, term->file, name);
}

/* Looks up the symbols that can be found now.  -1: see `diag`. */
static int look_up(cpc_set_t *set, struct cpci_target target, uint_t flags,
		   struct cpci_symbol_addr *at, struct cpci_diag *diag)
{
	const struct cpci_plan *plan = set->plan;
	struct cpci_symfiles *files = &set->cpc->symfiles;
	pid_t tid = target.tid != 0 ? target.tid : cpci_self();
	uint_t first, missing;
	int n = 0;

	if (cpci_symbols_in_files(files, plan, target.tid, at, diag) == -1)
		return -1;
	first = cpci_symbols_first(plan, at);
	if (target.tid == -1 && first < plan->nterms)
		return refuse_on_cpu(plan, first, diag);
	if ((flags & CPC_BIND_LATE) == 0)
		n = cpci_symbols_find(files, plan, tid, at, &missing, diag);
	if (n <= 0)
		return n;
	return refuse_missing(set, tid, missing, at[missing].mapped, diag);
}

int cpci_symbols_make(cpc_set_t *set, struct cpci_target target, uint_t flags,
		      struct cpci_symbol_addr **at, struct cpci_diag *diag)
{
	const struct cpci_plan *plan = set->plan;

	*at = NULL;
	if (cpci_symbols_first(plan, NULL) == plan->nterms)
		return 0;
	*at = cpci_symbol_addrs_new(plan->nterms);
	if (*at == NULL)
		return cpci_diag_nomem(diag);
	return look_up(set, target, flags, *at, diag);
}

/* Starts counting symbols that are found now but were not before.  The caller holds the lock. */
static int resolve(cpc_set_t *set, struct cpci_symbol_addr *found, struct cpci_diag *diag)
{
	const struct cpci_target target = {.tid = set->target, .cpu = -1};
	const struct cpci_plan *plan = set->plan;
	uint_t missing;
	int n;

	memcpy(found, set->bp, plan->nterms * sizeof(*found));
	for (uint_t i = 0; i < plan->nterms; i++)
		found[i].file = -1; /* those of the set stay open, for LWPs that inherit it */
	n = cpci_symbols_find(&set->cpc->symfiles, plan, set->target, found, &missing, diag);
	for (uint_t i = 0; n != -1 && i < plan->nterms; i++) {
		set->bp[i].mapped = found[i].mapped;
		if (found[i].addr == set->bp[i].addr)
			continue;
		if (cpci_group_settle(plan, i, &found[i], target, &set->fd[i], set->off) == -1) {
			cpci_explain(diag, errno, plan->req[plan->ref[i].req].name,
				     cpci_plan_nth(plan, i), target);
			n = -1;
			break;
		}
		set->bp[i] = found[i];
		set->bp[i].file = -1;
	}
	cpci_symbol_addrs_close(found, plan->nterms);
	return n;
}

int cpc_set_resolve(cpc_t *cpc, cpc_set_t *set)
{
	static const char fn[] = "cpc_set_resolve";
	struct cpci_symbol_addr *found;
	struct cpci_diag diag;
	int n;

	set = cpci_bound_set(cpc, fn, set);
	if (set == NULL)
		return -1;
	if (set->bp == NULL)
		return 0;
	found = reallocarray(NULL, set->plan->nterms, sizeof(*found));
	if (found == NULL)
		return cpci_fail_nomem(cpc, fn);
	cpci_lock();
	n = resolve(set, found, &diag);
	cpci_unlock();
	free(found);
	return n == -1 ? cpci_fail(cpc, fn, &diag) : n;
}

/* The address for cpc_walk_symbols(); `at` is NULL if the set is not bound. */
static uint64_t address_of(const struct cpci_term *term, const struct cpci_symbol_addr *at)
{
	if (at != NULL && (at->addr != 0 || at->mapped))
		return at->addr;
	return term->file[0] != '\0' && term->file[0] != '/' ? CPC_NOT_MAPPED : 0;
}

void cpc_walk_symbols(cpc_t *cpc, const cpc_set_t *set, void *arg, cpc_walk_symbols_fn *action)
{
	const struct cpci_plan *plan;

	if (!cpci_is_set(cpc, set))
		return;
	set = cpci_link_copy(set);
	plan = set->plan;
	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);
		const struct cpci_symbol_addr *at = set->bp != NULL ? &set->bp[i] : NULL;
		char name[CPCI_SYMBOL_NAME];

		if (term->symbol[0] == '\0' || plan->req[plan->ref[i].req].beside)
			continue;
		cpci_symbol_name(term, name);
		if (term->site <= 1)
			action(arg, (int)plan->ref[i].req, name, address_of(term, at));
		if (at == NULL || at->clone[0] == '\0')
			continue;
		strlcat(name, at->clone, sizeof(name));
		action(arg, (int)plan->ref[i].req, name, at->addr);
	}
}

/* The term of a bound set of this handle that names a symbol; NULL: none. */
static const struct cpci_term *term_of(const cpc_t *cpc, const cpc_set_t *set, const char *symbol)
{
	const struct cpci_plan *plan;
	char own[CPCI_SYMBOL_NAME];

	if (!cpci_is_set(cpc, set))
		return NULL;
	set = cpci_link_copy(set);
	plan = set->plan;
	for (uint_t i = 0; set->bp != NULL && i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);

		if (term->symbol[0] == '\0' || term->site > 1)
			continue;
		cpci_symbol_name(term, own);
		if (strcmp(own, symbol) == 0)
			return term;
	}
	return NULL;
}

int cpc_nearest_symbol(cpc_t *cpc, const cpc_set_t *set, const char *symbol, char *name,
		       size_t size)
{
	const struct cpci_term *term;
	bool near;

	cpci_lock();
	term = term_of(cpc, set, symbol);
	near = term != NULL && cpci_symbols_nearest(&cpc->symfiles, term, set->target, name, size);
	cpci_unlock();
	return near;
}

int cpc_set_stripped(cpc_t *cpc, const cpc_set_t *set, const char *symbol)
{
	const struct cpci_term *term;
	bool stripped;

	cpci_lock();
	term = term_of(cpc, set, symbol);
	stripped = term != NULL && cpci_symbols_stripped(&cpc->symfiles, term, set->target);
	cpci_unlock();
	return stripped;
}
