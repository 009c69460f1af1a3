/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * uprobe.c - the kernel's PMU of instructions in files: "uprobe" in sysfs
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format).
 */
#include "perf.h"

#include <pthread.h>

static struct {
	bool there;
	uint32_t type;
	char ret[CPCI_PMU_TEXT], counter[CPCI_PMU_TEXT]; /* the formats of these fields */
} uprobe;

static void find_pmu(void)
{
	uprobe.there = cpci_pmu_type("uprobe", &uprobe.type) &&
		       cpci_pmu_format("uprobe", "retprobe", uprobe.ret) &&
		       cpci_pmu_format("uprobe", "ref_ctr_offset", uprobe.counter);
}

static bool have_uprobes(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_pmu);
	return uprobe.there;
}

bool cpci_uprobe_attr(struct perf_event_attr *attr, bool ret)
{
	uint64_t max;

	*attr = (struct perf_event_attr){0};
	if (!have_uprobes())
		return false;
	attr->type = uprobe.type;
	return cpci_pmu_put_bits(attr, uprobe.ret, ret, &max);
}

bool cpci_uprobe_returns(const struct perf_event_attr *attr)
{
	struct perf_event_attr returns = {0};
	uint64_t max;

	return cpci_perf_is_uprobe(attr) && cpci_pmu_put_bits(&returns, uprobe.ret, 1, &max) &&
	       (attr->config & returns.config) != 0;
}

void cpci_uprobe_count_calls(struct perf_event_attr *attr)
{
	uint64_t max;

	cpci_pmu_put_bits(attr, uprobe.ret, 0, &max);
}

bool cpci_uprobe_counter(struct perf_event_attr *attr, uint64_t counter)
{
	uint64_t max;

	return have_uprobes() && cpci_pmu_put_bits(attr, uprobe.counter, counter, &max);
}

bool cpci_perf_is_uprobe(const struct perf_event_attr *attr)
{
	/* Dynamic types come after the fixed ones. */
	return attr->type >= PERF_TYPE_MAX && have_uprobes() && attr->type == uprobe.type;
}
