/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* info.c - describes the requests of a set. */
#include "set.h"

#include <errno.h>
#include <stdio.h>

int cpci_check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, int index)
{
	if (set->cpc == cpc && index >= 0 && (uint_t)index < set->plan->nreqs)
		return 0;
	return cpci_failf(cpc, fn, EINVAL, 0,
			  set->cpc != cpc ? "the set was made with another handle"
					  : "no request %d in the set",
			  index);
}

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

int cpc_set_counts_on(cpc_t *cpc, const cpc_set_t *set, processorid_t cpu)
{
	const struct cpci_plan *plan = set->plan;

	if (set->cpc != cpc || cpu < 0)
		return cpci_failf(cpc, "cpc_set_counts_on", EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "no CPU %d",
				  cpu);
	/* If an event is a sum over the kinds of cores, one term suffices. */
	for (uint_t i = 0; i < plan->nreqs; i++) {
		const struct cpci_event *event = &plan->req[i].event;
		bool any = false;

		for (uint_t k = 0; k < event->nterms; k++)
			any |= cpci_pmu_counts_on(&event->term[k].attr, cpu);
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
