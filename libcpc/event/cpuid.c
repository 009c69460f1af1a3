/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpuid.c - the name of this machine's CPU in perf(1) and in its vendor's event files:
 * "GenuineIntel-6-CF-2", or on Arm its MIDR, "0x00000000410fd0c0".
 */
#include "event.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static char name[64];
static bool is_other; /* CPC_CPUID names another CPU than this machine's */

#if defined(__x86_64__)

static void read_name(void)
{
	unsigned eax, ebx, ecx, edx, family, model;
	char vendor[13] = "";

	if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0)
		return;
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &edx, 4);
	memcpy(vendor + 8, &ecx, 4);
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0)
		return;
	family = eax >> 8 & 0xf;
	model = eax >> 4 & 0xf;
	if (family == 6 || family == 0xf)
		model += (eax >> 16 & 0xf) << 4;
	if (family == 0xf)
		family += eax >> 20 & 0xff;
	snprintf(name, sizeof(name), "%s-%u-%X-%X", vendor, family, model, eax & 0xf);
}

#else

/* The MIDR without variant and revision, which event files do not distinguish. */
static void read_name(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
	unsigned long long midr;

	if (f == NULL)
		return;
	if (fscanf(f, "%llx", &midr) == 1)
		snprintf(name, sizeof(name), "0x%016llx", midr & ~0xf0000fULL);
	fclose(f);
}

#endif

/* "GenuineIntel-6-CF" also matches "GenuineIntel-6-CF-2". */
static bool matches(const char *cpu, const char *pattern)
{
	const char *step = strrchr(cpu, '-');
	char family[sizeof(name)];
	int dashes = 0;

	for (const char *p = cpu; *p != '\0'; p++)
		dashes += *p == '-';
	if (fnmatch(pattern, cpu, FNM_CASEFOLD) == 0)
		return true;
	if (dashes < 3 || step == NULL)
		return false;
	snprintf(family, sizeof(family), "%.*s", (int)(step - cpu), cpu);
	return fnmatch(pattern, family, FNM_CASEFOLD) == 0;
}

static void find_name(void)
{
	const char *given = secure_getenv("CPC_CPUID");

	read_name();
	if (given == NULL)
		return;
	is_other = !matches(name, given);
	snprintf(name, sizeof(name), "%s", given);
}

/* The CPU's name as in perf(1), or from the environment variable CPC_CPUID; "": unknown. */
static const char *cpuid(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_name);
	return name;
}

bool cpci_cpuid_matches(const char *pattern)
{
	return matches(cpuid(), pattern);
}

bool cpci_cpuid_is_other(void)
{
	cpuid();
	return is_other;
}

/*
 * CPUs that libpfm4 4.13 has no tables for, with a PMU of libpfm4 that has the same events.
 * Linux's own tables are the same for both (tools/perf/pmu-events/arch, mapfile.csv of x86
 * and arm64; those of Linux 6.2 where later ones differ).  The first match wins.
 */
static const struct cpci_standin standins[] = {
	{"GenuineIntel-6-A[56]", "Intel Comet Lake", "skl"},
	{"GenuineIntel-6-A7", "Intel Rocket Lake", "icl"},
	{"GenuineIntel-6-CF", "Intel Emerald Rapids", "spr"},
	{"AuthenticAMD-23-[0-9A-F]", "AMD Zen 1", "amd64_fam17h_zen1"},
	{"AuthenticAMD-23-[12][0-9A-F]", "AMD Zen 1", "amd64_fam17h_zen1"},
	{"HygonGenuine-24-*", "Hygon Dhyana", "amd64_fam17h_zen1"},
	{"AuthenticAMD-23-*", "AMD Zen 2", "amd64_fam17h_zen2"},
	{"AuthenticAMD-25-[0-9A-F]", "AMD Zen 3", "amd64_fam19h_zen3"},
	{"AuthenticAMD-25-[245][0-9A-F]", "AMD Zen 3", "amd64_fam19h_zen3"},
	{"AuthenticAMD-25-*", "AMD Zen 4", "amd64_fam19h_zen4"},
	{"0x00000000410fd080", "ARM Cortex A72", "arm_ac57"},
	{"0x00000000410fd0b0", "ARM Cortex A76", "arm_n1"},
};

const struct cpci_standin *cpci_find_standin(void)
{
	for (size_t i = 0; i < sizeof(standins) / sizeof(*standins); i++) {
		if (cpci_cpuid_matches(standins[i].cpu))
			return &standins[i];
	}
	return NULL;
}
