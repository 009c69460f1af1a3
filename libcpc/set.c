/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * set.c - sets and their requests.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REQUESTS 64
#define ALL_FLAGS (CPC_COUNT_USER | CPC_COUNT_SYSTEM)

/* An unbound set of `plan`, whose reference it takes over also when it fails. */
static cpc_set_t *new_set(cpc_t *cpc, struct cpci_plan *plan)
{
	cpc_set_t *set = calloc(1, sizeof(*set));

	if (set == NULL) {
		cpci_plan_drop(plan);
		return NULL;
	}
	set->cpc = cpc;
	set->plan = plan;
	pthread_mutex_lock(&cpc->lock);
	LIST_INSERT_HEAD(&cpc->sets, set, link);
	pthread_mutex_unlock(&cpc->lock);
	return set;
}

cpc_set_t *cpc_set_create(cpc_t *cpc)
{
	struct cpci_plan *plan = cpci_plan_new();

	return plan != NULL ? new_set(cpc, plan) : NULL;
}

int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set)
{
	if (set->cpc != cpc)
		return cpci_failf(cpc, "cpc_set_destroy", EINVAL, 0,
				  "the set was made with another handle");
	pthread_mutex_lock(&cpc->lock);
	if (set->bound != CPCI_UNBOUND)
		cpci_unbind(set);
	LIST_REMOVE(set, link);
	pthread_mutex_unlock(&cpc->lock);
	cpci_plan_drop(set->plan);
	free(set->preset);
	free(set->start);
	free(set);
	return 0;
}

cpc_set_t *cpc_set_dup(cpc_t *cpc, const cpc_set_t *set)
{
	cpc_set_t *dup;
	size_t n;

	if (set->cpc != cpc) {
		cpci_failf(cpc, "cpc_set_dup", EINVAL, 0, "the set was made with another handle");
		return NULL;
	}
	dup = new_set(cpc, cpci_plan_hold(set->plan));
	if (dup == NULL)
		return NULL;
	n = set->plan->nreqs;
	dup->preset = reallocarray(NULL, n + 1, sizeof(*dup->preset));
	if (dup->preset == NULL) {
		cpc_set_destroy(cpc, dup);
		errno = ENOMEM;
		return NULL;
	}
	if (n > 0)
		memcpy(dup->preset, set->preset, n * sizeof(*dup->preset));
	return dup;
}

/* The slot that an attribute asks for, or the one after the highest taken. */
static int choose_slot(cpc_t *cpc, const struct cpci_plan *plan, struct cpci_req *req,
		       struct cpci_diag *diag)
{
	uint_t next = 0;
	bool asked = false;

	for (uint_t i = 0; i < plan->nreqs; i++) {
		if (plan->req[i].slot >= next)
			next = plan->req[i].slot + 1;
	}
	req->slot = next;
	for (uint_t i = 0; i < req->nattrs; i++) {
		const cpc_attr_t *attr = &req->attrs[i];

		if (strcmp(attr->ca_name, "picnum") != 0)
			continue;
		if (attr->ca_val >= cpc_npic(cpc)) {
			cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
				  "no pic%llu for event '%s': the slots here are pic0 to pic%u",
				  (unsigned long long)attr->ca_val, req->name, cpc_npic(cpc) - 1);
			return -1;
		}
		req->slot = (uint_t)attr->ca_val;
		asked = true;
	}
	if (!asked && next >= MAX_REQUESTS) {
		cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
			  "no slot for event '%s' after pic%d, the last one", req->name,
			  MAX_REQUESTS - 1);
		return -1;
	}
	for (uint_t i = 0; asked && i < plan->nreqs; i++) {
		if (plan->req[i].slot == req->slot) {
			cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
				  "pic%u is asked for twice, by '%s' and '%s'", req->slot,
				  plan->req[i].name, req->name);
			return -1;
		}
	}
	return 0;
}

static int apply_attrs(struct cpci_req *req, struct cpci_diag *diag)
{
	for (uint_t i = 0; i < req->nattrs; i++) {
		if (strcmp(req->attrs[i].ca_name, "picnum") != 0 &&
		    cpci_attr_apply(&req->event, req->name, &req->attrs[i], diag) == -1)
			return -1;
	}
	return 0;
}

/* Makes the plan the set's own and adds to it.  -1: out of memory. */
static int add(cpc_set_t *set, const struct cpci_req *req)
{
	struct cpci_plan *plan = set->plan;
	size_t n = plan->nreqs + 1U;
	uint64_t *preset;

	preset = reallocarray(set->preset, n, sizeof(*preset));
	if (preset == NULL)
		return -1;
	set->preset = preset;
	preset[n - 1] = req->preset;

	/* Duplicates and buffers go on with the plan as it was. */
	plan = cpci_plan_copy(plan);
	if (plan == NULL)
		return -1;
	if (cpci_plan_add(plan, req) == -1) {
		cpci_plan_drop(plan);
		errno = ENOMEM;
		return -1;
	}
	cpci_plan_drop(set->plan);
	set->plan = plan;
	return 0;
}

int cpc_set_add_request(cpc_t *cpc, cpc_set_t *set, const char *event, uint64_t preset,
			uint_t flags, uint_t nattrs, const cpc_attr_t *attrs)
{
	static const char fn[] = "cpc_set_add_request";
	struct cpci_req req = {
		/* Not changed: the plan makes copies. */
		.name = (char *)(uintptr_t)event,
		.attrs = (cpc_attr_t *)(uintptr_t)attrs,
		.preset = preset,
		.flags = flags,
		.nattrs = nattrs,
	};
	struct cpci_diag diag;

	if (set->cpc != cpc)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set was made with another handle");
	if (set->bound != CPCI_UNBOUND)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set is bound");
	if (event == NULL || (nattrs > 0 && attrs == NULL))
		return cpci_failf(cpc, fn, EINVAL, 0, "no event, or no attributes, where some are");
	if ((flags & ~(uint_t)ALL_FLAGS) != 0 || (flags & ALL_FLAGS) == 0)
		return cpci_failf(cpc, fn, EINVAL, CPC_REQ_INVALID_FLAGS,
				  (flags & ALL_FLAGS) == 0
					  ? "event '%s' is to be counted neither in user nor in "
					    "kernel mode"
					  : "unknown flags for event '%s'",
				  event);
	if (set->plan->nreqs == MAX_REQUESTS)
		return cpci_failf(cpc, fn, EINVAL, CPC_RESOURCE_UNAVAIL,
				  "no room for event '%s': a set takes %d requests", event,
				  MAX_REQUESTS);
	req.event.defs = cpci_defs(cpc, &diag);
	if (req.event.defs == NULL || cpci_event_resolve(event, flags, &req.event, &diag) == -1 ||
	    choose_slot(cpc, set->plan, &req, &diag) == -1 || apply_attrs(&req, &diag) == -1)
		return cpci_fail(cpc, fn, &diag);
	if (add(set, &req) == -1)
		return cpci_failf(cpc, fn, ENOMEM, 0, "%s", strerror(ENOMEM));
	return (int)set->plan->nreqs - 1;
}

int cpc_set_request_preset(cpc_t *cpc, cpc_set_t *set, int index, uint64_t preset)
{
	if (set->cpc != cpc || index < 0 || (uint_t)index >= set->plan->nreqs)
		return cpci_failf(cpc, "cpc_set_request_preset", EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "no request %d in the set",
				  index);
	set->preset[index] = preset;
	return 0;
}

static int describe_term(const struct cpci_term *term, char *text, size_t size)
{
	char more[64] = "";

	if (term->config1 != 0 || term->config2 != 0)
		snprintf(more, sizeof(more), ", 0x%llx, 0x%llx", (unsigned long long)term->config1,
			 (unsigned long long)term->config2);
	return snprintf(text, size, " %c type %u, config 0x%llx%s, counts in %s mode",
			term->minus ? '-' : '+', term->type, (unsigned long long)term->config, more,
			cpci_term_is_clock(term) ? "user and kernel"
			: term->exclude_user	 ? "kernel"
			: term->exclude_kernel	 ? "user"
						 : "user and kernel");
}

int cpc_set_describe(cpc_t *cpc, const cpc_set_t *set, int index, char *text, size_t size)
{
	const struct cpci_req *req;
	size_t n;

	if (set->cpc != cpc || index < 0 || (uint_t)index >= set->plan->nreqs)
		return cpci_failf(cpc, "cpc_set_describe", EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "no request %d in the set",
				  index);
	req = &set->plan->req[index];
	n = (size_t)snprintf(text, size, "pic%u %s: %s:", req->slot, req->name,
			     req->event.resolver);
	for (uint_t i = 0; i < req->event.nterms && n < size; i++)
		n += (size_t)describe_term(&req->event.term[i], text + n, size - n);
	if (req->event.scale != 1 && n < size)
		snprintf(text + n, size - n, ", times %g %s", req->event.scale, req->event.unit);
	return 0;
}

double cpc_request_scale(cpc_t *cpc, const cpc_set_t *set, int index, const char **unit)
{
	const struct cpci_event *event;

	*unit = "";
	if (set->cpc != cpc || index < 0 || (uint_t)index >= set->plan->nreqs)
		return 1;
	event = &set->plan->req[index].event;
	*unit = event->unit;
	return event->scale;
}

int cpc_set_counts_on(cpc_t *cpc, const cpc_set_t *set, processorid_t cpu)
{
	const struct cpci_plan *plan = set->plan;

	(void)cpc;
	/* Of an event that is a sum over kinds of cores, one term is enough. */
	for (uint_t i = 0; i < plan->nreqs; i++) {
		const struct cpci_event *event = &plan->req[i].event;
		bool any = false;

		for (uint_t k = 0; k < event->nterms; k++)
			any |= cpci_pmu_counts_on(&event->term[k], cpu);
		if (!any)
			return 0;
	}
	return 1;
}

void cpc_walk_requests(cpc_t *cpc, cpc_set_t *set, void *arg,
		       void (*action)(void *arg, int index, const char *event, uint64_t preset,
				      uint_t flags, int nattrs, const cpc_attr_t *attrs))
{
	(void)cpc;
	for (uint_t i = 0; i < set->plan->nreqs; i++) {
		const struct cpci_req *req = &set->plan->req[i];

		action(arg, (int)i, req->name, set->preset[i], req->flags, (int)req->nattrs,
		       req->attrs);
	}
}
