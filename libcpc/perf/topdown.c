/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topdown.c - the topdown metrics of Intel's CPUs, from Ice Lake on.
 *
 * If the kernel supports them, the core PMU has the event slots, with a counter of its own.
 * Another register has the share of each metric in these slots, and the kernel computes
 * counts from that when it reads them.  So a metric can only be opened in a group whose
 * leader is slots (intel_pmu_hw_config() in arch/x86/events/intel/core.c).
 */
#include "perf.h"

#include <bsd/string.h>
#include <pthread.h>
#include <string.h>

#define CODE 0xffff /* of config: event and umask */
#define SLOTS 0x0400
#define FIRST_METRIC 0x8000
#define LAST_METRIC 0x8700

static struct {
	bool there;
	uint32_t type;
	char pmu[CPCI_PMU_NAME];
} topdown;

/* On hybrid machines, efficiency cores have events of these names, too, but no slots. */
static void find_pmu(void)
{
	static const char *const pmus[] = {"cpu", "cpu_core"};
	char text[CPCI_PMU_TEXT];

	for (size_t i = 0; !topdown.there && i < sizeof(pmus) / sizeof(*pmus); i++) {
		topdown.there = cpci_pmu_read(pmus[i], "events/", "slots", text) &&
				cpci_pmu_type(pmus[i], &topdown.type);
		strlcpy(topdown.pmu, pmus[i], sizeof(topdown.pmu));
	}
}

const char *cpci_topdown_pmu(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_pmu);
	return topdown.there ? topdown.pmu : NULL;
}

static bool is_of_pmu(const struct perf_event_attr *attr)
{
	return attr->type >= PERF_TYPE_RAW && cpci_topdown_pmu() != NULL &&
	       attr->type == topdown.type;
}

bool cpci_topdown_is_slots(const struct perf_event_attr *attr)
{
	return is_of_pmu(attr) && (attr->config & CODE) == SLOTS;
}

bool cpci_topdown_is_metric(const struct perf_event_attr *attr)
{
	uint64_t code = attr->config & CODE;

	return is_of_pmu(attr) && (code & 0xff) == 0 && code >= FIRST_METRIC && code <= LAST_METRIC;
}

void cpci_topdown_make_slots(struct perf_event_attr *attr)
{
	attr->config = (attr->config & ~(uint64_t)CODE) | SLOTS;
}
