/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* request.c - the requests of a set: adds and describes them. */
#include "counter.h"
#include "set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODES (CPC_COUNT_USER | CPC_COUNT_SYSTEM)
#define ALL_FLAGS (MODES | CPC_COUNT_HV | CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED | CPC_OVF_RECORD)

int cpci_check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, int index)
{
	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	if (index >= 0 && (uint_t)index < set->plan->nreqs)
		return 0;
	return cpci_failf(cpc, fn, EINVAL, 0, "no request %d in the set", index);
}

/* ---- adding a request ------------------------------------------------------------------- */

/* Reads the slot that an attribute selects. */
static int read_picnum(cpc_t *cpc, const struct cpci_plan *plan, struct cpci_req *req,
		       struct cpci_diag *diag)
{
	for (uint_t i = 0; i < req->nattrs; i++) {
		const cpc_attr_t *attr = &req->attrs[i];

		if (strcmp(attr->ca_name, "picnum") != 0)
			continue;
		if (attr->ca_val >= cpc_npic(cpc))
			return cpci_diag(
				diag, EINVAL, CPC_INVALID_PICNUM,
				"no pic%llu for event '%s': the slots here are pic0 to pic%u",
				(unsigned long long)attr->ca_val, req->name, cpc_npic(cpc) - 1);
		req->placed = (int)attr->ca_val;
	}
	for (uint_t i = 0; req->placed >= 0 && i < plan->nreqs; i++) {
		if (plan->req[i].placed == req->placed)
			return cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
					 "pic%d is asked for twice, by '%s' and '%s'", req->placed,
					 plan->req[i].name, req->name);
	}
	return 0;
}

/* Slots have numbers below CPCI_MAX_REQUESTS, including those after the highest selected one. */
static int check_slots(const struct cpci_plan *plan, struct cpci_diag *diag)
{
	for (uint_t i = 0; i < plan->nreqs; i++) {
		if (plan->req[i].slot < CPCI_MAX_REQUESTS)
			continue;
		return cpci_diag(diag, EINVAL, CPC_INVALID_PICNUM,
				 "no slot for event '%s' after pic%d, the last one",
				 plan->req[i].name, CPCI_MAX_REQUESTS - 1);
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
	return cpci_diag(
		diag, EINVAL, CPC_PIC_NOT_CAPABLE,
		"pic%d cannot count '%s': it is a counter of cycles or the like only; give a "
		"lower number, or none",
		req->placed, req->name);
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
	cpci_plan_drop(plan);
	return -1;
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

static bool is_bound(const cpc_set_t *set)
{
	bool bound;

	cpci_lock();
	bound = cpci_is_bound(set);
	cpci_unlock();
	return bound;
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
	int rc = -1;

	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	if (is_bound(set))
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
	cpci_lock();
	if (req.event.defs != NULL)
		rc = resolve_and_add(cpc, set, &req, &diag);
	cpci_unlock();
	cpci_warn_vendor(cpc, fn);
	if (rc == -1)
		return cpci_fail(cpc, fn, &diag);
	cpci_warn_redefined(cpc, fn, &req.event);
	cpci_warn_kinds(cpc, fn, event, &req.event);
	return (int)set->plan->nreqs - 1;
}

/* Makes an event count calls of functions instead of returns.  False: it counts no returns. */
static bool count_calls(struct cpci_event *event)
{
	bool any = false;

	for (uint_t i = 0; i < event->nterms; i++) {
		if (!cpci_uprobe_returns(&event->term[i].attr))
			continue;
		cpci_uprobe_count_calls(&event->term[i].attr);
		any = true;
	}
	return any;
}

int cpc_set_add_calls(cpc_t *cpc, cpc_set_t *set, int index)
{
	struct cpci_req req;
	struct cpci_diag diag;
	int rc = -1;

	if (!cpci_is_set(cpc, set) || is_bound(set) || index < 0 ||
	    (uint_t)index >= set->plan->nreqs)
		return cpci_errno(EINVAL);
	if (cpci_req_copy(&req, &set->plan->req[index]) == -1)
		return -1;
	req.placed = -1;
	req.beside = true;
	if (!count_calls(&req.event))
		diag.err = ENOENT;
	else if (set->plan->nreqs == CPCI_MAX_REQUESTS)
		diag.err = EINVAL;
	else
		rc = add_request(set, &req, &diag);
	cpci_req_free(&req);
	return rc == 0 ? (int)set->plan->nreqs - 1 : cpci_errno(diag.err);
}

int cpc_set_request_preset(cpc_t *cpc, cpc_set_t *set, int index, uint64_t preset)
{
	if (cpci_check_request(cpc, "cpc_set_request_preset", set, index) == -1)
		return -1;
	set->preset[index] = preset;
	return 0;
}

/* ---- describing requests ---------------------------------------------------------------- */

static int describe_term(const struct cpci_term *term, char *text, size_t size)
{
	const struct perf_event_attr *attr = &term->attr;
	bool filtered = cpci_term_is_filtered(term);
	struct perf_event_attr copy = *attr;
	__u64 config3 = *cpci_perf_config3(&copy);
	char more[96] = "", last[32] = "";

	if (config3 != 0)
		snprintf(last, sizeof(last), ", 0x%llx", (unsigned long long)config3);
	if (attr->config1 != 0 || attr->config2 != 0 || config3 != 0)
		snprintf(more, sizeof(more), ", 0x%llx, 0x%llx%s",
			 (unsigned long long)attr->config1, (unsigned long long)attr->config2,
			 last);
	return snprintf(text, size, " %c type %u, config 0x%llx%s%s%s, counts in %s mode",
			term->minus ? '-' : '+', attr->type, (unsigned long long)attr->config, more,
			filtered ? ", filter " : "", filtered ? term->filter : "",
			cpci_perf_is_clock(attr) ? "user and kernel"
			: attr->exclude_user	 ? "kernel"
			: attr->exclude_kernel	 ? "user"
						 : "user and kernel");
}

int cpc_set_describe(cpc_t *cpc, const cpc_set_t *set, int index, char *text, size_t size)
{
	const struct cpci_req *req;
	size_t n;

	if (cpci_check_request(cpc, "cpc_set_describe", set, index) == -1)
		return -1;
	req = &set->plan->req[index];
	n = (size_t)snprintf(text, size, "pic%u %s: %s:", req->slot, req->name,
			     req->event.resolver);
	for (uint_t i = 0; i < req->event.nterms && n < size; i++) {
		if (req->event.term[i].site > 1) /* of a probe, which usually has a single site */
			continue;
		n += (size_t)describe_term(&req->event.term[i], text + n, size - n);
	}
	if (req->event.scale != 1 && n < size)
		snprintf(text + n, size - n, ", times %g %s", req->event.scale, req->event.unit);
	return 0;
}

int cpc_set_request_scale(cpc_t *cpc, const cpc_set_t *set, int index, double *scale,
			  const char **unit)
{
	const struct cpci_event *event;

	if (cpci_check_request(cpc, "cpc_set_request_scale", set, index) == -1)
		return -1;
	event = &set->plan->req[index].event;
	*scale = event->scale;
	*unit = event->unit;
	return 0;
}

int cpc_set_request_signed(cpc_t *cpc, const cpc_set_t *set, int index)
{
	const struct cpci_event *event;

	if (cpci_check_request(cpc, "cpc_set_request_signed", set, index) == -1)
		return -1;
	event = &set->plan->req[index].event;
	for (uint_t i = 0; i < event->nterms; i++) {
		if (event->term[i].minus)
			return 1;
	}
	return 0;
}

/* If an event is a sum over the kinds of cores, one term suffices. */
static bool counts_on(const struct cpci_event *event, int cpu)
{
	bool any = false;

	for (uint_t i = 0; i < event->nterms; i++)
		any |= cpci_pmu_counts_on(&event->term[i].attr, cpu);
	return any;
}

bool cpci_is_of_kinds(const struct cpci_event *event)
{
	bool all = cpci_cores()->n > 1;

	for (uint_t i = 0; i < event->nterms; i++)
		all &= cpci_cores_have_type(cpci_pmu_type_of(&event->term[i].attr));
	return all;
}

int cpc_set_counts_on(cpc_t *cpc, const cpc_set_t *set, processorid_t cpu)
{
	static const char fn[] = "cpc_set_counts_on";
	bool has = false, lacks = false;

	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	if (cpu < 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "no CPU %d", cpu);
	/* An event of another kind of cores is 0 there, if the set also has one of this kind. */
	for (uint_t i = 0; i < set->plan->nreqs; i++) {
		const struct cpci_event *event = &set->plan->req[i].event;
		const bool counts = counts_on(event, cpu), kinds = cpci_is_of_kinds(event);

		if (!counts && !kinds)
			return 0;
		has |= counts && kinds;
		lacks |= !counts;
	}
	return has || !lacks;
}

void cpc_walk_requests(cpc_t *cpc, cpc_set_t *set, void *arg,
		       void (*action)(void *arg, int index, const char *event, uint64_t preset,
				      uint_t flags, int nattrs, const cpc_attr_t *attrs))
{
	for (uint_t i = 0; cpci_is_set(cpc, set) && i < set->plan->nreqs; i++) {
		const struct cpci_req *req = &set->plan->req[i];

		action(arg, (int)i, req->name, set->preset[i], req->flags, (int)req->nattrs,
		       req->attrs);
	}
}

/* Where the part in slashes ends; `quotes`: not in double quotes.  0: a quote is missing. */
static size_t find_last_slash(const char *s, bool quotes)
{
	bool quoted = false;
	size_t n;

	for (n = 1; s[n] != '\0'; n++) {
		quoted ^= quotes && s[n] == '"';
		if (!quoted && s[n] == '/' && (s[n + 1] == ',' || s[n + 1] == '\0'))
			return n + 1;
	}
	return quoted ? 0 : n;
}

/* A comma or the end follows the last slash. */
size_t cpc_word_length(const char *spec)
{
	size_t n = strcspn(spec, ",/"), slashed;

	if (spec[n] != '/')
		return n;
	slashed = find_last_slash(spec + n, true);
	return n + (slashed != 0 ? slashed : find_last_slash(spec + n, false));
}
