/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * set.c - sets and their requests.
 */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODES (CPC_COUNT_USER | CPC_COUNT_SYSTEM)
#define ALL_FLAGS (MODES | CPC_COUNT_HV | CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED | CPC_OVF_RECORD)

/* Makes an unbound set of `plan`, and takes over its reference even if it fails. */
static cpc_set_t *new_set(cpc_t *cpc, const char *fn, struct cpci_plan *plan)
{
	cpc_set_t *set = plan != NULL ? calloc(1, sizeof(*set)) : NULL;
	int cancel;

	if (set == NULL) {
		if (plan != NULL)
			cpci_plan_drop(plan);
		cpci_fail_nomem(cpc, fn);
		return NULL;
	}
	set->cpc = cpc;
	set->origin = set;
	set->plan = plan;
	cancel = cpci_lock();
	LIST_INSERT_HEAD(&cpc->sets, set, entry);
	cpci_unlock(cancel);
	return set;
}

cpc_set_t *cpc_set_create(cpc_t *cpc)
{
	return new_set(cpc, "cpc_set_create", cpci_plan_new());
}

int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set)
{
	int cancel;

	if (set->cpc != cpc)
		return cpci_failf(cpc, "cpc_set_destroy", EINVAL, 0,
				  "the set was made with another handle");
	cancel = cpci_lock();
	if (set->bound != CPCI_UNBOUND)
		cpci_unbind(set);
	LIST_REMOVE(set, entry);
	cpci_unlock(cancel);
	cpci_plan_drop(set->plan);
	free(set->preset);
	free(set->start);
	free(set->pic);
	free(set);
	return 0;
}

cpc_set_t *cpc_set_dup(cpc_t *cpc, const cpc_set_t *set)
{
	static const char fn[] = "cpc_set_dup";
	uint64_t *preset;
	cpc_set_t *dup;
	size_t n;

	if (set->cpc != cpc) {
		cpci_failf(cpc, fn, EINVAL, 0, "the set was made with another handle");
		return NULL;
	}
	n = set->plan->nreqs;
	preset = reallocarray(NULL, n + 1, sizeof(*preset));
	if (preset == NULL) {
		cpci_fail_nomem(cpc, fn);
		return NULL;
	}
	dup = new_set(cpc, fn, cpci_plan_hold(set->plan));
	if (dup == NULL) {
		free(preset);
		return NULL;
	}
	if (n > 0)
		memcpy(preset, set->preset, n * sizeof(*preset));
	dup->preset = preset;
	return dup;
}

void cpc_choose_slots(size_t n, int *slot)
{
	cpci_choose_slots(n, slot);
}

/* Reads the slot that an attribute selects. */
static int read_picnum(cpc_t *cpc, const struct cpci_plan *plan, struct cpci_req *req,
		       struct cpci_diag *diag)
{
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
		req->placed = (int)attr->ca_val;
	}
	for (uint_t i = 0; req->placed >= 0 && i < plan->nreqs; i++) {
		if (plan->req[i].placed == req->placed) {
			cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
				  "pic%d is asked for twice, by '%s' and '%s'", req->placed,
				  plan->req[i].name, req->name);
			return -1;
		}
	}
	return 0;
}

/*
 * Slots have numbers below CPCI_MAX_REQUESTS, including those after the highest selected one.
 */
static int check_slots(const struct cpci_plan *plan, struct cpci_diag *diag)
{
	for (uint_t i = 0; i < plan->nreqs; i++) {
		if (plan->req[i].slot < CPCI_MAX_REQUESTS)
			continue;
		cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
			  "no slot for event '%s' after pic%d, the last one", plan->req[i].name,
			  CPCI_MAX_REQUESTS - 1);
		return -1;
	}
	return 0;
}

/* Some counters can count only cycles and the like. */
static int check_picnum(const struct cpci_req *req, struct cpci_diag *diag)
{
	const struct perf_event_attr *attr = &req->event.term[0].attr;

	if (req->placed < 0 || req->event.nterms > 1 || !cpci_perf_is_core(attr) ||
	    cpci_group_slot_counts((uint_t)req->placed, attr))
		return 0;
	cpci_diag(diag, EINVAL, CPC_PIC_NOT_CAPABLE,
		  "pic%d cannot count '%s': it is a counter of cycles or the like only; give a "
		  "lower number, or none",
		  req->placed, req->name);
	return -1;
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

/* Adds a request to the set, with a plan of its own.  -1: see `diag`. */
static int add_request(cpc_set_t *set, const struct cpci_req *req, struct cpci_diag *diag)
{
	/* Duplicates and buffers keep the old plan. */
	struct cpci_plan *plan = cpci_plan_copy(set->plan);
	size_t n = set->plan->nreqs + 1U;
	uint64_t *preset = reallocarray(set->preset, n, sizeof(*preset));

	if (preset != NULL)
		set->preset = preset;
	if (plan == NULL || preset == NULL || cpci_plan_add(plan, req) == -1) {
		cpci_diag_nomem(diag);
	} else if (check_slots(plan, diag) == 0) {
		preset[n - 1] = req->preset;
		cpci_plan_drop(set->plan);
		set->plan = plan;
		return 0;
	}
	if (plan != NULL)
		cpci_plan_drop(plan);
	return -1;
}

void cpci_warn_redefined(cpc_t *cpc, const char *fn, const struct cpci_event *event)
{
	struct cpci_def *def = event->redefined;
	struct cpci_diag diag;

	if (def == NULL || atomic_exchange(&def->warned, true))
		return;
	cpci_diag(&diag, 0, CPC_WARNING, "'%s' is the definition of %s:%d, not the %s of that name",
		  def->name, def->file, def->line, event->known_as);
	cpci_warn(cpc, fn, diag.text);
}

/* What is wrong with the flags of an event, as a format; NULL: nothing. */
static const char *wrong_flags(uint_t flags)
{
	if ((flags & MODES) == 0)
		return "event '%s' would be counted neither in user nor in kernel mode";
	if ((flags & ~(uint_t)ALL_FLAGS) != 0)
		return "unknown flags for event '%s'";
	if ((flags & CPC_OVF_BUFFERED) != 0 && (flags & CPC_OVF_NOTIFY_EMT) == 0)
		return "event '%s' has CPC_OVF_BUFFERED without CPC_OVF_NOTIFY_EMT";
	if ((flags & CPC_OVF_RECORD) != 0 && (flags & CPC_OVF_BUFFERED) == 0)
		return "event '%s' has CPC_OVF_RECORD without CPC_OVF_BUFFERED";
	return NULL;
}

/* The caller holds the lock: this may open events to try them.  -1: see `diag`. */
static int resolve_and_add(cpc_t *cpc, cpc_set_t *set, struct cpci_req *req, struct cpci_diag *diag)
{
	int rc = -1;

	if (cpci_event_resolve(req->name, req->flags, &req->event, diag) == -1)
		return -1;
	req->own = (req->flags & CPC_OVF_NOTIFY_EMT) != 0 && (req->flags & CPC_OVF_BUFFERED) == 0 &&
		   req->event.nterms == 1 && cpci_tracepoint_is_own(&req->event.term[0].attr);
	if (read_picnum(cpc, set->plan, req, diag) == 0 && apply_attrs(req, diag) == 0 &&
	    check_picnum(req, diag) == 0)
		rc = add_request(set, req, diag);
	cpci_event_free(&req->event); /* the plan has a copy */
	return rc;
}

int cpc_set_add_request(cpc_t *cpc, cpc_set_t *set, const char *event, uint64_t preset,
			uint_t flags, uint_t nattrs, const cpc_attr_t *attrs)
{
	static const char fn[] = "cpc_set_add_request";
	struct cpci_req req = {
		/* They are not modified: the plan makes copies. */
		.name = (char *)(uintptr_t)event,
		.attrs = (cpc_attr_t *)(uintptr_t)attrs,
		.preset = preset,
		.flags = flags,
		.nattrs = nattrs,
		.placed = -1,
	};
	struct cpci_diag diag;
	const char *wrong;
	int rc = -1, cancel;

	if (set->cpc != cpc)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set was made with another handle");
	if (set->bound != CPCI_UNBOUND)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set is bound");
	if (event == NULL || (nattrs > 0 && attrs == NULL))
		return cpci_failf(cpc, fn, EINVAL, 0, "no event, or no attributes, where some are");
	wrong = wrong_flags(flags);
	if (wrong != NULL)
		return cpci_failf(cpc, fn, EINVAL, CPC_REQ_INVALID_FLAGS, wrong, event);
	if (set->plan->nreqs == CPCI_MAX_REQUESTS)
		return cpci_failf(cpc, fn, EINVAL, CPC_RESOURCE_UNAVAIL,
				  "no room for event '%s': a set takes %d requests", event,
				  CPCI_MAX_REQUESTS);
	req.event.defs = cpci_defs(cpc, fn, &diag);
	cancel = cpci_lock();
	if (req.event.defs != NULL)
		rc = resolve_and_add(cpc, set, &req, &diag);
	cpci_unlock(cancel);
	cpci_warn_vendor(cpc, fn);
	if (rc == -1)
		return cpci_fail(cpc, fn, &diag);
	cpci_warn_redefined(cpc, fn, &req.event);
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
