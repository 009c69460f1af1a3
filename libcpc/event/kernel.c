/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * kernel.c - events by their names in the kernel and in perf(1): software events, events of the
 * scheduler, and raw codes of the core PMU.
 *
 * libpfm4 knows most software events, too.  But starting it takes milliseconds, which
 * programs that count only page faults avoid.
 */
#include "event.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

static const struct software {
	const char *name, *desc;
	uint64_t config;
} software[] = {
	{"cpu-clock", "nanoseconds, by the clock of the CPU", PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", "nanoseconds during which the LWP ran", PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", "page faults of all kinds", PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", "page faults of all kinds", PERF_COUNT_SW_PAGE_FAULTS},
	{"context-switches", "switches from one LWP to another", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", "switches from one LWP to another", PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "moves of an LWP to another CPU", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"migrations", "moves of an LWP to another CPU", PERF_COUNT_SW_CPU_MIGRATIONS},
	{"minor-faults", "page faults that needed no input or output",
	 PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", "page faults that needed input or output", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"cgroup-switches", "switches to an LWP of another cgroup", PERF_COUNT_SW_CGROUP_SWITCHES},
	{"alignment-faults", "misaligned accesses that the kernel carried out",
	 PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", "instructions that the kernel emulated",
	 PERF_COUNT_SW_EMULATION_FAULTS},
	{"dummy", "nothing, ever", PERF_COUNT_SW_DUMMY},
	{"busy-time", "nanoseconds during which a CPU was not idle", CPC_SCHED_BUSY_TIME},
	{"run-delay", "nanoseconds during which an LWP waited for a CPU", CPC_SCHED_RUN_DELAY},
	{"preemptions", "switches away from an LWP that did not block", CPC_SCHED_PREEMPTIONS},
	{"preemptions-by-others", "likewise, to another cgroup, user or command",
	 CPC_SCHED_PREEMPTIONS_BY_OTHERS},
	{"throttled-time", "nanoseconds during which a cgroup had used its quota, on each CPU",
	 CPC_SCHED_THROTTLED_TIME},
};

void cpci_software_walk(void *arg, cpci_walk_fn *action)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		action(arg, software[i].name, software[i].desc);
}

/* The software event whose name is the first `n` characters of `name`; NULL: none. */
static const struct software *find_software(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++) {
		if (strlen(software[i].name) == n && strncasecmp(software[i].name, name, n) == 0)
			return &software[i];
	}
	return NULL;
}

bool cpci_software_has(const char *name)
{
	return find_software(name, strlen(name)) != NULL;
}

/* Parses ":u", ":k" or both, which override the modes of the request.  False: something else. */
static bool take_modes(const char *modifiers, uint_t *flags)
{
	uint_t modes = 0;

	for (const char *m = modifiers; *m != '\0'; m += 2) {
		if (m[0] != ':' || (m[1] != 'u' && m[1] != 'k'))
			return false;
		modes |= m[1] == 'u' ? CPC_COUNT_USER : CPC_COUNT_SYSTEM;
	}
	if (modes != 0)
		*flags = (*flags & ~(uint_t)(CPC_COUNT_USER | CPC_COUNT_SYSTEM)) | modes;
	return true;
}

int cpci_event_software(const char *name, uint_t flags, struct cpci_event *event,
			struct cpci_diag *diag)
{
	const size_t n = strcspn(name, ":");
	const struct software *known = find_software(name, n);

	/* Leave other modifiers to libpfm4, which explains what is wrong. */
	if (known == NULL || !take_modes(name + n, &flags))
		return 0;
	return cpci_event_single(
		event,
		&(struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = known->config},
		flags, diag);
}

/* A number above 0 is a raw code of the core PMU. */
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
	if (*modifier == ':')
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "invalid event '%s': a raw code takes no modifiers; the modes "
				 "are those of the request",
				 name);
	if (!cpci_parse_number(name, &code) || code == 0)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "invalid event '%s': a raw code is a number from 1 to %#llx", name,
				 (unsigned long long)UINT64_MAX);
	if (cpci_pmu_name(PERF_TYPE_RAW, pmu) && (code & ~cpci_pmu_mask(pmu)) != 0)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "invalid event '%s': no field of PMU '%s' has the bits 0x%llx",
				 name, pmu, (unsigned long long)(code & ~cpci_pmu_mask(pmu)));
	return cpci_event_single(event,
				 &(struct perf_event_attr){.type = PERF_TYPE_RAW, .config = code},
				 flags, diag);
}
