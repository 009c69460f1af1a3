/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* plan.c - the requests of a set, and which terms are opened as one group. */
#include "group.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cpci_plan *cpci_plan_new(void)
{
	struct cpci_plan *plan = calloc(1, sizeof(*plan));

	if (plan != NULL)
		atomic_init(&plan->refs, 1);
	return plan;
}

struct cpci_plan *cpci_plan_hold(struct cpci_plan *plan)
{
	atomic_fetch_add(&plan->refs, 1);
	return plan;
}

void cpci_req_free(struct cpci_req *req)
{
	for (uint_t i = 0; i < req->nattrs; i++)
		free(req->attrs[i].ca_name);
	free(req->attrs);
	free(req->name);
	cpci_event_free(&req->event);
}

#define FEW_TRACEPOINTS 4 /* this many are closed without a noticeable wait */

/* When the last event of a tracepoint is closed, the kernel waits 5 to 60 ms. */
static void close_spare(const struct cpci_plan *plan)
{
	uint_t slow = 0;

	for (uint_t i = 0; i < plan->nterms; i++)
		slow += cpci_plan_nth(plan, i)->attr.type == PERF_TYPE_TRACEPOINT;
	for (uint_t i = 0; i < plan->nterms; i++) {
		if (plan->spare[i] == -1)
			continue;
		if (slow > FEW_TRACEPOINTS &&
		    cpci_plan_nth(plan, i)->attr.type == PERF_TYPE_TRACEPOINT)
			cpci_closer_close(plan->spare[i]);
		else
			close(plan->spare[i]);
	}
	free(plan->spare);
}

void cpci_plan_drop(struct cpci_plan *plan)
{
	if (plan == NULL || atomic_fetch_sub(&plan->refs, 1) != 1)
		return;
	if (plan->spare != NULL)
		close_spare(plan);
	for (uint_t i = 0; i < plan->nreqs; i++)
		cpci_req_free(&plan->req[i]);
	free(plan->req);
	free(plan->ref);
	free(plan->group);
	free(plan);
}

int cpci_req_copy(struct cpci_req *dst, const struct cpci_req *src)
{
	*dst = *src;
	dst->nattrs = 0;
	dst->attrs = calloc(src->nattrs + 1, sizeof(*dst->attrs));
	dst->name = strdup(src->name);
	dst->event.term = reallocarray(NULL, src->event.nterms, sizeof(*dst->event.term));
	if (dst->name == NULL || dst->attrs == NULL || dst->event.term == NULL) {
		cpci_req_free(dst);
		return -1;
	}
	memcpy(dst->event.term, src->event.term, src->event.nterms * sizeof(*dst->event.term));
	for (uint_t i = 0; i < src->nattrs; i++) {
		dst->attrs[i] = src->attrs[i];
		dst->attrs[i].ca_name = strdup(src->attrs[i].ca_name);
		dst->nattrs++;
		if (dst->attrs[i].ca_name == NULL) {
			cpci_req_free(dst);
			return -1;
		}
	}
	return 0;
}

/*
 * Terms that can be scheduled together form a group: those of the core PMU together with
 * software events, and those of each other PMU.  If there are several kinds of cores, each
 * has its own PMU, and software events have a group of their own, because a group counts only
 * on its leader's cores.  Each uprobe has a group of its own, because it may be opened later.
 */
enum domain { DOMAIN_CORE, DOMAIN_SOFTWARE, DOMAIN_UPROBE, DOMAIN_OTHER };

static uint64_t domain_of(const struct perf_event_attr *attr, bool have_core)
{
	const struct cpci_cores *cores = cpci_cores();
	uint64_t kind = attr->config >> CPCI_CORE_SHIFT;

	if (cpci_perf_is_uprobe(attr))
		return DOMAIN_UPROBE;
	if (cpci_perf_is_software(attr))
		return have_core ? DOMAIN_CORE : DOMAIN_SOFTWARE;
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		return kind == 0 ? (uint64_t)DOMAIN_CORE : DOMAIN_OTHER + kind;
	case PERF_TYPE_RAW: /* if there are several kinds of cores, it is the PMU of one of them */
		return cores->n < 2 ? (uint64_t)DOMAIN_CORE : DOMAIN_OTHER + (uint64_t)attr->type;
	default:
		if (cores->n == 1 && attr->type == cores->core[0].type)
			return DOMAIN_CORE;
		return DOMAIN_OTHER + (uint64_t)attr->type;
	}
}

static bool is_core(uint64_t domain)
{
	return domain == DOMAIN_CORE ||
	       (domain > DOMAIN_OTHER && cpci_cores_have_type((uint32_t)(domain - DOMAIN_OTHER)));
}

const struct cpci_term *cpci_plan_term(const struct cpci_plan *plan, struct cpci_term_ref ref)
{
	return &plan->req[ref.req].event.term[ref.term];
}

bool cpci_plan_overflows(const struct cpci_plan *plan, uint_t i)
{
	return (plan->req[plan->ref[i].req].flags & CPC_OVF_NOTIFY_EMT) != 0;
}

bool cpci_plan_buffers(const struct cpci_plan *plan, uint_t i)
{
	return (plan->req[plan->ref[i].req].flags & CPC_OVF_BUFFERED) != 0;
}

bool cpci_plan_freezes(const struct cpci_plan *plan, uint_t i)
{
	return cpci_plan_overflows(plan, i) && !cpci_plan_buffers(plan, i);
}

const struct cpci_term *cpci_plan_nth(const struct cpci_plan *plan, uint_t i)
{
	return cpci_plan_term(plan, plan->ref[i]);
}

/* The index of the first topdown metric in a group; the group's size: none. */
static uint_t find_metric(const struct cpci_plan *plan, const struct cpci_group *group)
{
	uint_t i = 0;

	while (i < group->n &&
	       !cpci_topdown_is_metric(&cpci_plan_nth(plan, group->first + i)->attr))
		i++;
	return i;
}

static void move_to_front(struct cpci_term_ref *ref, uint_t i)
{
	struct cpci_term_ref first = ref[i];

	memmove(&ref[1], &ref[0], i * sizeof(first));
	ref[0] = first;
}

/*
 * Puts the leader of each group first.  In a hardware group it must be a hardware term, which
 * accepts software members, but not vice versa.  A term whose overflow freezes the set always
 * leads: when its overflow disables it, the members stop at the same instant.  (The kernel
 * then makes it a hardware group, too.) The leader of topdown metrics is slots.
 */
static void put_leader_first(struct cpci_plan *plan, struct cpci_group *group)
{
	uint_t hardware = group->n, freezes = group->n, slots = group->n;

	for (uint_t i = group->n; i-- > 0;) {
		if (!cpci_perf_is_software(&cpci_plan_nth(plan, group->first + i)->attr))
			hardware = i;
		if (cpci_plan_freezes(plan, group->first + i))
			freezes = i;
		if (cpci_topdown_is_slots(&cpci_plan_nth(plan, group->first + i)->attr))
			slots = i;
	}
	group->hardware = hardware < group->n;
	if (slots < group->n && find_metric(plan, group) < group->n)
		move_to_front(&plan->ref[group->first], slots);
	else if (freezes < group->n)
		move_to_front(&plan->ref[group->first], freezes);
	else if (group->hardware)
		move_to_front(&plan->ref[group->first], hardware);
}

/* The first term from `done` on that is not a uprobe, so that these come last. */
static uint_t first_to_place(const struct cpci_plan *plan, uint_t done)
{
	for (uint_t i = done; i < plan->nterms; i++) {
		if (!cpci_perf_is_uprobe(&cpci_plan_nth(plan, i)->attr))
			return i;
	}
	return done;
}

/* Sorts the terms into groups, one per domain, in the order of first use. */
static void lay_out(struct cpci_plan *plan)
{
	uint64_t domain = DOMAIN_CORE;
	bool have_core = false;
	uint_t done = 0;

	plan->core = false;
	for (uint_t i = 0; i < plan->nterms; i++)
		have_core |= domain_of(&cpci_plan_nth(plan, i)->attr, false) == DOMAIN_CORE;
	for (plan->ngroups = 0; done < plan->nterms; plan->ngroups++) {
		struct cpci_group *group = &plan->group[plan->ngroups];

		/* After a uprobe, all terms are uprobes. */
		if (domain != DOMAIN_UPROBE)
			domain = domain_of(&cpci_plan_nth(plan, first_to_place(plan, done))->attr,
					   have_core);
		*group = (struct cpci_group){.first = done};
		for (uint_t i = done; i < plan->nterms; i++) {
			struct cpci_term_ref m = plan->ref[i];

			if (domain == DOMAIN_UPROBE && done > group->first)
				break;
			if (domain_of(&cpci_plan_term(plan, m)->attr, have_core) != domain)
				continue;
			/* Move the terms in between: their order stays. */
			memmove(&plan->ref[done + 1], &plan->ref[done], (i - done) * sizeof(m));
			plan->ref[done++] = m;
		}
		group->n = done - group->first;
		put_leader_first(plan, group);
		group->core = group->hardware && is_core(domain);
		plan->core |= group->core;
	}
}

static bool same_modes(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel;
}

/* All metrics are in one register, so they have the modes of their leader. */
static const char *metric_trouble(const struct cpci_plan *plan, const struct cpci_group *group,
				  const struct perf_event_attr *metric)
{
	const struct perf_event_attr *leader = &cpci_plan_nth(plan, group->first)->attr;

	if (!cpci_topdown_is_slots(leader))
		return "it is a part of 'slots', which must be counted with it";
	if (!same_modes(leader, metric))
		return "it is a part of 'slots', which must be counted in the same modes";
	return NULL;
}

const char *cpci_plan_check_topdown(const struct cpci_plan *plan, struct cpci_term_ref *bad)
{
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_group *group = &plan->group[g];
		bool metrics = find_metric(plan, group) < group->n;
		const char *why = NULL;

		for (uint_t i = group->first; metrics && i < group->first + group->n; i++) {
			*bad = plan->ref[i];
			if (cpci_topdown_is_metric(&cpci_plan_nth(plan, i)->attr))
				why = metric_trouble(plan, group, &cpci_plan_nth(plan, i)->attr);
			if (cpci_plan_overflows(plan, i))
				why = "its overflows cannot be reported beside topdown metrics";
			if (why != NULL)
				return why;
		}
	}
	return NULL;
}

/* System calls that arm each term, unblock signals (twice with several groups) and return. */
uint64_t cpci_plan_least_period(const struct cpci_plan *plan, uint_t req)
{
	const struct cpci_req *r = &plan->req[req];

	if ((r->flags & CPC_OVF_NOTIFY_EMT) == 0)
		return 1;
	return r->own ? plan->nterms + (plan->ngroups > 1) + 3U
		      : cpci_perf_least_period(&r->event.term[0].attr);
}

void cpc_choose_slots(size_t n, int *slot)
{
	int next = 0;

	for (size_t i = 0; i < n; i++) {
		if (slot[i] < 0) {
			bool taken = true;

			while (taken) {
				taken = false;
				for (size_t j = i + 1; j < n; j++)
					taken |= slot[j] == next;
				next += taken;
			}
			slot[i] = next;
		}
		if (slot[i] >= next)
			next = slot[i] + 1;
	}
}

static int assign_slots(struct cpci_plan *plan)
{
	int *slot = reallocarray(NULL, plan->nreqs, sizeof(*slot));

	if (slot == NULL)
		return -1;
	for (uint_t i = 0; i < plan->nreqs; i++)
		slot[i] = plan->req[i].placed;
	cpc_choose_slots(plan->nreqs, slot);
	for (uint_t i = 0; i < plan->nreqs; i++)
		plan->req[i].slot = (uint_t)slot[i];
	free(slot);
	return 0;
}

int cpci_plan_add(struct cpci_plan *plan, const struct cpci_req *req)
{
	size_t n = plan->nterms + req->event.nterms;
	void *p;

	p = reallocarray(plan->req, plan->nreqs + 1U, sizeof(*plan->req));
	if (p == NULL)
		return -1;
	plan->req = p;
	p = reallocarray(plan->ref, n, sizeof(*plan->ref));
	if (p == NULL)
		return -1;
	plan->ref = p;
	p = reallocarray(plan->group, n, sizeof(*plan->group));
	if (p == NULL)
		return -1;
	plan->group = p;
	if (cpci_req_copy(&plan->req[plan->nreqs], req) == -1)
		return -1;
	for (uint_t i = 0; i < req->event.nterms; i++)
		plan->ref[plan->nterms++] = (struct cpci_term_ref){plan->nreqs, i};
	plan->nreqs++;
	plan->noverflows += (req->flags & CPC_OVF_NOTIFY_EMT) != 0;
	plan->nbuffered += (req->flags & CPC_OVF_BUFFERED) != 0;
	plan->fits = false;
	lay_out(plan);
	return assign_slots(plan);
}

struct cpci_plan *cpci_plan_copy(const struct cpci_plan *plan)
{
	struct cpci_plan *copy = cpci_plan_new();

	for (uint_t i = 0; copy != NULL && i < plan->nreqs; i++) {
		if (cpci_plan_add(copy, &plan->req[i]) == -1) {
			cpci_plan_drop(copy);
			return NULL;
		}
	}
	return copy;
}
