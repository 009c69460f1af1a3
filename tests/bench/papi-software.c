/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * papi-software.so - to be loaded before PAPI, which refuses to count anything where libpfm4 finds
 * no PMU of the core: the kernel's own events are one there.
 */
#include <dlfcn.h>
#include <perfmon/pfmlib.h>
#include <stdbool.h>

static pfm_err_t (*next)(pfm_pmu_t, pfm_pmu_info_t *);

static bool has_core(void)
{
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	pfm_for_all_pmus(pmu) {
		info = (pfm_pmu_info_t){.size = sizeof(info)};
		if (next(pmu, &info) == PFM_SUCCESS && info.is_present &&
		    info.type == PFM_PMU_TYPE_CORE)
			return true;
	}
	return false;
}

pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	pfm_err_t rc;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "pfm_get_pmu_info");
	rc = next(pmu, info);
	if (rc == PFM_SUCCESS && pmu == PFM_PMU_PERF_EVENT && !has_core()) {
		info->is_dfl = info->is_present = 1;
		info->type = PFM_PMU_TYPE_CORE;
		info->num_cntrs = 4;
		info->max_encoding = 1;
	}
	return rc;
}
