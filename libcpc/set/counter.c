/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* counter.c - the counters of sets that BPF programs read in the kernel (counter.h). */
#include "counter.h"
#include "set.h"

#include <bsd/string.h>
#include <errno.h>
#include <string.h>

/* Is term `i` in a group of the core PMU? */
static bool is_core(const struct cpci_plan *plan, uint_t i)
{
	const struct cpci_group *group = plan->group;

	while (i >= group->first + group->n)
		group++;
	return group->core;
}

void cpc_sched_events(unsigned bits)
{
	cpci_perf_count_sched(bits);
}

int cpc_set_counters(cpc_t *cpc, const cpc_set_t *set, struct cpc_counter *counter, uint_t n)
{
	const struct cpci_plan *plan;

	if (!cpci_is_set(cpc, set))
		return cpci_errno(EINVAL);
	plan = set->plan;
	for (uint_t i = 0; i < plan->nterms && i < n; i++)
		counter[i] = (struct cpc_counter){
			.index = (int)plan->ref[i].req,
			.core = is_core(plan, i),
			.function = cpci_perf_is_uprobe(&cpci_plan_nth(plan, i)->attr),
			.minus = cpci_plan_nth(plan, i)->minus,
			.further = cpci_plan_nth(plan, i)->site > 1,
			.returns = cpci_uprobe_returns(&cpci_plan_nth(plan, i)->attr),
			.file = set->bp != NULL ? set->bp[i].file : -1,
			.offset = set->bp != NULL ? set->bp[i].offset : 0,
			.fd = set->bound != CPCI_UNBOUND ? set->fd[i] : -1,
			.attr = &cpci_plan_nth(plan, i)->attr,
		};
	return (int)plan->nterms;
}

int cpc_buf_fill(cpc_t *cpc, cpc_buf_t *buf, const cpc_set_t *set, const uint64_t *count, uint_t n,
		 uint64_t ns, hrtime_t at)
{
	const struct cpci_plan *plan;

	if (!cpci_is_set(cpc, set) || !cpci_is_buf(cpc, buf))
		return cpci_errno(EINVAL);
	plan = set->plan;
	if (buf->plan != plan || n != plan->nterms)
		return cpci_errno(EINVAL);
	memcpy(buf->val, set->preset, plan->nreqs * sizeof(*buf->val));
	for (uint_t i = 0; i < n; i++)
		buf->val[plan->ref[i].req] +=
			cpci_plan_nth(plan, i)->minus ? 0 - count[i] : count[i];
	buf->npcs = 0;
	buf->nlost = buf->nthrottled = 0;
	buf->tick = cpci_cycles(&cpc->clock, ns);
	buf->hrtime = at;
	return 0;
}

int cpc_set_holds(cpc_t *cpc, const cpc_set_t *set, hrtime_t now)
{
	if (!cpci_is_set(cpc, set) || set->bound == CPCI_UNBOUND || !set->lwps)
		return cpci_errno(EINVAL);
	return cpci_epoch_check(&set->epoch, now);
}

const char *cpc_set_unprobed(cpc_t *cpc, const cpc_set_t *set, pid_t pid, const char **why)
{
	const char *name;

	if (!cpci_is_set(cpc, set) || set->bound == CPCI_UNBOUND ||
	    cpci_symbols_check(set->plan, set->bp, pid, &name, why) == -1)
		return NULL;
	return name;
}

void cpc_cpu_pmu(int cpu, char *name, size_t size)
{
	const struct cpci_cores *cores = cpci_cores();
	char only[CPCI_PMU_NAME] = "";
	const char *found = only;

	for (size_t i = 0; i < cores->n; i++) {
		if (cpci_pmu_lists_cpu(cores->core[i].name, cpu))
			found = cores->core[i].name;
	}
	if (cores->n == 0 && cpci_perf_have_core_pmu())
		cpci_pmu_name(PERF_TYPE_RAW, only);
	strlcpy(name, found, size);
}
