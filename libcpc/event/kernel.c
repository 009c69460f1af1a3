/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * kernel.c - events that are named as the kernel has them: software events that libpfm4
 * does not know, and codes of the core PMU.
 */
#include "event.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* What perf(1) knows and libpfm4 does not. */
static const struct {
	const char *name, *desc;
	uint64_t config;
} software[] = {
	{"alignment-faults", "misaligned accesses that the kernel carried out",
	 PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", "instructions that the kernel emulated",
	 PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", "nothing, ever", PERF_COUNT_SW_DUMMY},
};

void cpci_software_walk(void *arg, cpci_walk_fn *action)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		action(arg, software[i].name, software[i].desc);
}

int cpci_event_software(const char *name, uint_t flags, struct cpci_event *event,
			struct cpci_diag *diag)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++) {
		if (strcasecmp(software[i].name, name) != 0)
			continue;
		return cpci_event_single(event,
					 &(struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
								   .config = software[i].config},
					 flags, diag);
	}
	return 0;
}

/* A non-zero number is a code of the core PMU. */
int cpci_event_raw(const char *name, uint_t flags, struct cpci_event *event, struct cpci_diag *diag)
{
	char pmu[CPCI_PMU_NAME];
	const char *modifier;
	uint64_t code;

	if (!isdigit((unsigned char)*name))
		return 0;
	modifier = name + strspn(name, "0123456789xabcdefABCDEF");
	if (*modifier == ':' && cpci_event_precise(name, modifier + 1, strlen(modifier + 1), diag))
		return -1;
	if (*modifier == ':') {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "bad event '%s': a code of the CPU has no modifiers; the modes "
			  "are those of the request",
			  name);
		return -1;
	}
	if (!cpci_parse_number(name, &code) || code == 0) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "bad event '%s': a code of the CPU is a number from 1 to %#llx", name,
			  (unsigned long long)UINT64_MAX);
		return -1;
	}
	if (cpci_pmu_name(PERF_TYPE_RAW, pmu) && (code & ~cpci_pmu_mask(pmu)) != 0) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "bad event '%s': no field of PMU '%s' has the bits 0x%llx", name, pmu,
			  (unsigned long long)(code & ~cpci_pmu_mask(pmu)));
		return -1;
	}
	return cpci_event_single(event,
				 &(struct perf_event_attr){.type = PERF_TYPE_RAW, .config = code},
				 flags, diag);
}
