/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* hardware.c - the counters of this machine. */
#include "set.h"

#include <stdio.h>

/* Without hardware that limits them, or where the caller may not count. */
#define VIRTUAL_SLOTS 16

/*
 * Each counter has a file of its own, so the overflowing one is known.  With several kinds of cores
 * only events of one kind overflow: cpc_bind_curlwp() refuses all names that other machines have.
 */
static uint_t find_caps(bool hardware)
{
	const struct perf_event_attr attr = {
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = hardware ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES
				   : (uint64_t)PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	if (hardware && cpci_cores()->n > 1)
		return 0;
	return cpci_perf_overflows(&attr) ? CPC_CAP_OVERFLOW_INTERRUPT | CPC_CAP_OVERFLOW_PRECISE
					  : 0;
}

static void find_hardware(cpc_t *cpc)
{
	char pmu[CPCI_PMU_NAME], counters[32] = "";
	const char *cpu;
	uint_t capacity;
	bool hardware = cpci_perf_have_core_pmu();

	cpc->caps = find_caps(hardware);
	cpc->npic = VIRTUAL_SLOTS;
	if (!hardware) {
		snprintf(cpc->cciname, sizeof(cpc->cciname),
			 "Linux perf events (no hardware counters)");
		return;
	}
	cpu = cpci_pfm_core()->desc;
	capacity = cpci_group_capacity();
	/* 0: the caller may not count.  libpfm4 has the number of the largest CPU of a family. */
	if (capacity > 0) {
		cpc->npic = capacity;
		snprintf(counters, sizeof(counters), ", %u counters", capacity);
	}
	if (cpci_cores()->n > 1)
		snprintf(cpc->cciname, sizeof(cpc->cciname),
			 "%s (%zu kinds of cores%s; counts are sums over them)", cpu,
			 cpci_cores()->n, counters);
	else
		snprintf(cpc->cciname, sizeof(cpc->cciname), "%s (PMU %s%s)", cpu,
			 cpci_pmu_name(PERF_TYPE_RAW, pmu) ? pmu : "cpu", counters);
}

/* Determined at the first call: most programs that count never ask.  -1 and EINVAL: no handle. */
static int know_hardware(cpc_t *cpc)
{
	if (cpci_check_handle(cpc) == -1)
		return -1;
	cpci_lock();
	if (cpc->npic == 0)
		find_hardware(cpc);
	cpci_unlock();
	return 0;
}

uint_t cpc_npic(cpc_t *cpc)
{
	return know_hardware(cpc) == 0 ? cpc->npic : 0;
}

uint_t cpc_caps(cpc_t *cpc)
{
	return know_hardware(cpc) == 0 ? cpc->caps : 0;
}

const char *cpc_cciname(cpc_t *cpc)
{
	return know_hardware(cpc) == 0 ? cpc->cciname : NULL;
}

const char *cpc_cpuref(cpc_t *cpc)
{
	(void)cpc;
	return "See perf_event_open(2) for software events, and the manuals of the CPU's vendor "
	       "for its hardware events.";
}
