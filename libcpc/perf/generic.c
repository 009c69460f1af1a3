/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* generic.c - generic events, such as cycles, for one of several kinds of cores. */
#include "perf.h"

#include <errno.h>
#include <pthread.h>

static bool kernel_takes_types = true;

/* PMUs of Arm do on Linux 6.12, but not on 6.1, which finds no PMU for such an event. */
static void try_types(void)
{
	const struct perf_event_attr cycles = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(cycles),
		.config = PERF_COUNT_HW_CPU_CYCLES | (uint64_t)cpci_cores()->core[0].type
							     << CPCI_CORE_SHIFT,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	kernel_takes_types = cpci_perf_probe(&cycles) != ENOENT;
}

#if defined(__aarch64__)

/* The codes of armv8_pmuv3_perf_map in the kernel; 0: none. */
static const uint16_t codes[PERF_COUNT_HW_MAX] = {
	[PERF_COUNT_HW_CPU_CYCLES] = 0x11,
	[PERF_COUNT_HW_INSTRUCTIONS] = 0x08,
	[PERF_COUNT_HW_CACHE_REFERENCES] = 0x04,
	[PERF_COUNT_HW_CACHE_MISSES] = 0x03,
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = 0x0c,
	[PERF_COUNT_HW_BRANCH_MISSES] = 0x10,
	[PERF_COUNT_HW_BUS_CYCLES] = 0x1d,
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = 0x23,
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND] = 0x24,
};

#define BR_RETIRED 0x21 /* counts branches where 0x0c is missing */

/* Turns a generic event into a core PMU's own event.  False: the PMU has no such event. */
static bool use_code(struct perf_event_attr *attr, const struct cpci_core *core)
{
	struct perf_event_attr own = *attr;

	if (attr->type != PERF_TYPE_HARDWARE || attr->config >= PERF_COUNT_HW_MAX ||
	    codes[attr->config] == 0)
		return false;
	own.type = core->type;
	own.config = codes[attr->config];
	if (attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && !cpci_pmu_implements(&own))
		own.config = BR_RETIRED;
	*attr = own;
	return true;
}

#else

static bool use_code(struct perf_event_attr *attr, const struct cpci_core *core)
{
	(void)attr, (void)core;
	return false;
}

#endif

void cpci_generic_for(struct perf_event_attr *attr, const struct cpci_core *core)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, try_types);
	if (kernel_takes_types || !use_code(attr, core))
		attr->config |= (uint64_t)core->type << CPCI_CORE_SHIFT;
}
