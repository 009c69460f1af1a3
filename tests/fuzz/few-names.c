/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * few-names.c - fewer names of events and PMUs.  An unknown name is compared with all of them,
 * which would take nearly all the time of a fuzzer.
 */
#include "../../libcpc/perf/perf.h"

#include <string.h>

#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib.h>

/* In place of the shipped definitions. */
extern const char cpci_events_solaris[], cpci_events_generic[], cpci_events_ratios[];
const char cpci_events_solaris[] = "[skl,icl]\nEC_ref = INST_RETIRED:ANY_P\n"
				   "[*]\nEC_ref = cache-references\n"
				   "EC_hit = cache-references - cache-misses\n";
const char cpci_events_generic[] = "[nosuch]\nPAPI_fp_ops = FP\n[*]\nPAPI_tot_ins = instructions\n";
const char cpci_events_ratios[] = "[*]\nipc = instructions / cycles\n";

/* See --wrap of ld(1). */
int __real_pfm_get_event_next(int idx);
int __wrap_pfm_get_event_next(int idx);
pfm_err_t __real_pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info);
pfm_err_t __wrap_pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info);
bool __real_cpci_pmu_name(uint32_t type, char *name);
bool __wrap_cpci_pmu_name(uint32_t type, char *name);

/*
 * Walks see two events of each PMU, of 60,000 in all, and few of the PMUs that are not here.
 * Known names are found all the same: libpfm4 looks them up itself.
 */
int __wrap_pfm_get_event_next(int idx)
{
	/* The lowest bits of an index are the number of the event in its PMU. */
	return (idx & 1) != 0 ? -1 : __real_pfm_get_event_next(idx);
}

pfm_err_t __wrap_pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	pfm_err_t rc = __real_pfm_get_pmu_info(pmu, info);

	return rc == PFM_SUCCESS && !info->is_present && pmu % 32 != 0 ? PFM_ERR_NOTSUPP : rc;
}

/* Looking for a core PMU reads all of /sys/devices: once. */
bool __wrap_cpci_pmu_name(uint32_t type, char *name)
{
	static char raw[CPCI_PMU_NAME];
	static int found = -1;

	if (type != PERF_TYPE_RAW)
		return __real_cpci_pmu_name(type, name);
	if (found == -1)
		found = __real_cpci_pmu_name(type, raw);
	strcpy(name, raw);
	return found != 0;
}
