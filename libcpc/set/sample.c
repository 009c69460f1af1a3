/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* sample.c - samples a bound set, or explains why its counters were lost. */
#include "set.h"

#include <bsd/string.h>
#include <errno.h>
#include <string.h>

/* Reads without a system call, if possible. */
static bool read_in_user_space(const cpc_set_t *set, uint64_t *raw)
{
	if (set->page == NULL || !cpci_user_read(set->page, set->plan->nterms,
						 &raw[CPCI_RAW_VALUES], &raw[CPCI_RAW_RUNNING]))
		return false;
	raw[CPCI_RAW_ENABLED] = raw[CPCI_RAW_RUNNING];
	return true;
}

/* The counters, or the epoch, of the set were lost: a sample of it would be too small. */
static int lost(const cpc_set_t *set)
{
	if (set->bound == CPCI_PCTX)
		set->link->lost = true;
	return cpci_errno(EAGAIN);
}

/*
 * Adds what was read of a group to the values of the requests.  A request whose overflows are
 * buffered starts again from its preset after each, unless `all` its counts are requested.
 */
static void add_counts(const cpc_set_t *set, const struct cpci_group *group, const uint64_t *raw,
		       bool all, uint64_t *val)
{
	for (uint_t i = group->first; i < group->first + group->n; i++) {
		uint_t req = set->plan->ref[i].req;
		uint64_t count = raw[CPCI_RAW_VALUES + i - group->first];
		uint64_t period = 0 - set->start[req];

		if (!all && cpci_plan_buffers(set->plan, i) && period != 0)
			count %= period;
		val[req] += cpci_plan_nth(set->plan, i)->minus ? 0 - count : count;
	}
}

int cpci_set_count(const cpc_set_t *set, uint64_t *raw, uint64_t *val, uint64_t *ns)
{
	const struct cpci_plan *plan = set->plan;
	bool timed = false;

	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_group *group = &plan->group[g];

		if (set->fd[group->first] == -1)
			continue; /* a copy without counters, or a site that its probe lacks */
		if (cpci_group_read(set->fd[group->first], group->n, raw) == -1)
			return -1;
		add_counts(set, group, raw, true, val);
		if (!timed)
			*ns += raw[set->tick_source];
		timed = true;
	}
	return 0;
}

int cpci_sample(cpc_set_t *set, struct cpci_values *sample)
{
	const struct cpci_plan *plan = set->plan;
	const enum cpci_bound bound = set->bound;
	uint64_t *raw = sample->raw, *val = sample->val, least_ns = 0;
	bool timed = false;
	const bool on_cpu = bound == CPCI_CPU || bound == CPCI_CPU_REMOTE;
	uint_t watch; /* 1: the next group also has the event that notices an offline CPU */

	if (bound == CPCI_UNBOUND ||
	    ((bound == CPCI_LWP || bound == CPCI_CPU) && set != cpci_link_own()))
		return cpci_errno(EINVAL);
	memcpy(val, set->start, plan->nreqs * sizeof(*val));
	watch = on_cpu && set->fd[plan->nterms] != -1;
	if (bound == CPCI_PCTX && cpci_group_least_ns(plan, set->fd, &least_ns) == -1)
		return errno == EAGAIN ? lost(set) : -1;
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_group *group = &plan->group[g];

		if (set->fd[group->first] == -1)
			continue; /* for cores of another kind, or its symbol is not found yet */
		if (!read_in_user_space(set, raw) &&
		    cpci_group_read(set->fd[group->first], group->n + watch, raw) == -1)
			return errno == EAGAIN ? lost(set) : -1;
		watch = 0;
		if (group->core && raw[CPCI_RAW_ENABLED] < least_ns)
			return lost(set); /* it was lost before the LWP exited */
		add_counts(set, group, raw, false, val);
		/* Uprobes are not open for the whole time, so their group has no valid time. */
		if (timed || (!on_cpu && set->fd[plan->nterms] != -1 &&
			      cpci_perf_is_uprobe(&cpci_plan_nth(plan, group->first)->attr)))
			continue;
		timed = true;
		sample->tick = cpci_cycles(&set->cpc->clock, raw[set->tick_source]);
	}
	if (!timed) {
		if (cpci_group_least_ns(plan, set->fd, &least_ns) == -1)
			return errno == EAGAIN ? lost(set) : -1;
		sample->tick = cpci_cycles(&set->cpc->clock, least_ns);
	}
	sample->hrtime = cpci_now();
	/* Check after reading the counters: a claim since then does not concern these values. */
	if ((bound == CPCI_LWP || bound == CPCI_PCTX || set->lwps) &&
	    !cpci_epoch_check(&set->epoch, sample->hrtime))
		return lost(set);
	return 0;
}

static inline int sample_into(cpc_set_t *set, cpc_buf_t *buf, uint64_t *raw)
{
	struct cpci_values sample = {.raw = raw, .val = buf->val, .tick = buf->tick};

	if (cpci_sample(set, &sample) == -1)
		return -1;
	buf->tick = sample.tick;
	buf->hrtime = sample.hrtime;
	buf->npcs = 0;
	buf->nlost = buf->nthrottled = 0;
	cpci_pcbuf_add_losses(set->pcbuf, &buf->nlost, &buf->nthrottled);
	return 0;
}

/* A buffer of another set may have too little space for a read(2) of this set's groups. */
static __attribute__((noinline)) int sample_into_other(cpc_set_t *set, cpc_buf_t *buf)
{
	if (buf->nreqs != set->plan->nreqs)
		return cpci_errno(EINVAL);
	return sample_into(set, buf, __builtin_alloca(cpci_raw_size(set->plan) * sizeof(uint64_t)));
}

static inline int sample_set(const cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	if (set == NULL || !cpci_is_buf(cpc, buf))
		return cpci_errno(EINVAL);
	return buf->plan == set->plan ? sample_into(set, buf, buf->raw)
				      : sample_into_other(set, buf);
}

cpc_set_t *cpci_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	set = cpci_own_or_set(cpc, set);
	return sample_set(cpc, set, buf) == 0 ? set : NULL;
}

int cpc_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	return sample_set(cpc, cpci_own_or_set(cpc, set), buf);
}

int cpc_set_lost(cpc_t *cpc, const cpc_set_t *origin, char *text, size_t size)
{
	const cpc_set_t *set = cpci_bound_set(cpc, "cpc_set_lost", origin);
	const struct cpci_plan *plan;
	struct cpci_diag diag;
	int group;

	if (set == NULL)
		return -1;
	plan = set->plan;
	if (set->err != 0) {
		strlcpy(text, set->why != NULL ? set->why : strerror(set->err), size);
		return 1;
	}
	group = cpci_group_lost(plan, set->fd);
	if (group == -1 && !cpci_epoch_check(&set->epoch, cpci_now()))
		return 0;
	/* After the LWP's exit it is unknown which group was lost. */
	for (group = group != -1 ? group : 0; !plan->group[group].hardware; group++) {
		if ((uint_t)group + 1 == plan->ngroups)
			return 0;
	}
	cpci_explain_held(&diag, plan->req[plan->ref[plan->group[group].first].req].name);
	strlcpy(text, diag.text, size);
	return 1;
}
