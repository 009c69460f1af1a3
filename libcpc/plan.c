/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * plan.c - the requests of a set, and which of them are opened as one group.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <linux/perf_event.h>
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

static void free_req(struct cpci_req *req)
{
	for (uint_t i = 0; i < req->nattrs; i++)
		free(req->attrs[i].ca_name);
	free(req->attrs);
	free(req->name);
}

void cpci_plan_drop(struct cpci_plan *plan)
{
	if (atomic_fetch_sub(&plan->refs, 1) != 1)
		return;
	for (uint_t i = 0; i < plan->nreqs; i++) {
		free_req(&plan->req[i]);
		if (plan->spare != NULL && plan->spare[i] != -1)
			close(plan->spare[i]);
	}
	free(plan->spare);
	free(plan->req);
	free(plan->member);
	free(plan->group);
	free(plan);
}

/* `dst` with strings of its own.  -1: out of memory, `dst` is freed. */
static int copy_req(struct cpci_req *dst, const struct cpci_req *src)
{
	*dst = *src;
	dst->nattrs = 0;
	dst->attrs = calloc(src->nattrs + 1, sizeof(*dst->attrs));
	dst->name = strdup(src->name);
	if (dst->name == NULL || dst->attrs == NULL) {
		free_req(dst);
		return -1;
	}
	for (uint_t i = 0; i < src->nattrs; i++) {
		dst->attrs[i] = src->attrs[i];
		dst->attrs[i].ca_name = strdup(src->attrs[i].ca_name);
		dst->nattrs++;
		if (dst->attrs[i].ca_name == NULL) {
			free_req(dst);
			return -1;
		}
	}
	return 0;
}

/*
 * Terms that can be scheduled together make a group: those of the core PMU, with
 * the kernel's own ones beside them, and those of each other PMU.
 */
enum domain { DOMAIN_CORE, DOMAIN_SOFTWARE, DOMAIN_OTHER };

static uint64_t domain_of(const struct cpci_term *term, bool have_core)
{
	if (cpci_term_is_software(term))
		return have_core ? DOMAIN_CORE : DOMAIN_SOFTWARE;
	switch (term->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return DOMAIN_CORE;
	default:
		return DOMAIN_OTHER + (uint64_t)term->type;
	}
}

/* In a hardware group a hardware term leads: it takes software ones, not vice versa. */
static void put_leader_first(struct cpci_plan *plan, struct cpci_span *group)
{
	for (uint_t i = 0; i < group->n; i++) {
		struct cpci_member *m = &plan->member[group->first + i];

		if (!cpci_term_is_software(&plan->req[m->req].term)) {
			struct cpci_member leader = *m;

			memmove(&plan->member[group->first + 1], &plan->member[group->first],
				i * sizeof(leader));
			plan->member[group->first] = leader;
			group->hardware = true;
			return;
		}
	}
}

static void lay_out(struct cpci_plan *plan)
{
	uint_t n = 0;
	bool have_core = false;

	for (uint_t i = 0; i < plan->nreqs; i++)
		have_core |= domain_of(&plan->req[i].term, false) == DOMAIN_CORE;
	plan->ngroups = 0;
	for (uint_t i = 0; i < plan->nreqs; i++) {
		uint64_t domain = domain_of(&plan->req[i].term, have_core);
		struct cpci_span *group = &plan->group[plan->ngroups];
		bool seen = false;

		for (uint_t j = 0; j < i; j++)
			seen |= domain_of(&plan->req[j].term, have_core) == domain;
		if (seen)
			continue;
		*group = (struct cpci_span){.first = n};
		for (uint_t j = i; j < plan->nreqs; j++) {
			if (domain_of(&plan->req[j].term, have_core) == domain)
				plan->member[n++].req = j;
		}
		group->n = n - group->first;
		put_leader_first(plan, group);
		plan->ngroups++;
	}
}

int cpci_plan_add(struct cpci_plan *plan, const struct cpci_req *req)
{
	size_t n = plan->nreqs + 1U;
	void *p;

	p = reallocarray(plan->req, n, sizeof(*plan->req));
	if (p == NULL)
		return -1;
	plan->req = p;
	p = reallocarray(plan->member, n, sizeof(*plan->member));
	if (p == NULL)
		return -1;
	plan->member = p;
	p = reallocarray(plan->group, n, sizeof(*plan->group));
	if (p == NULL)
		return -1;
	plan->group = p;
	if (copy_req(&plan->req[plan->nreqs], req) == -1)
		return -1;
	plan->nreqs++;
	plan->fits = false;
	lay_out(plan);
	return 0;
}

struct cpci_plan *cpci_plan_copy(const struct cpci_plan *plan)
{
	struct cpci_plan *copy = cpci_plan_new();

	for (uint_t i = 0; copy != NULL && i < plan->nreqs; i++) {
		if (cpci_plan_add(copy, &plan->req[i]) == -1) {
			cpci_plan_drop(copy);
			errno = ENOMEM;
			return NULL;
		}
	}
	return copy;
}
