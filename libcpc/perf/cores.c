/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* cores.c - the PMUs of CPU cores: hybrid machines have several kinds of cores. */
#include "perf.h"

#include <bsd/string.h>
#include <pthread.h>
#include <string.h>

static struct cpci_cores cores;

/* Only core PMUs have the file cpus; the single core PMU of a uniform x86 machine has none. */
static void note_core(void *arg, const char *pmu)
{
	char text[CPCI_PMU_TEXT];
	struct cpci_core *core = &cores.core[cores.n];

	(void)arg;
	if (cores.n == CPCI_MAX_CORES || !cpci_pmu_read(pmu, "", "cpus", text) ||
	    !cpci_pmu_type(pmu, &core->type))
		return;
	strlcpy(core->name, pmu, sizeof(core->name));
	cores.n++;
}

#if defined(__aarch64__)

static void note_code(void *arg, const char *event)
{
	struct cpci_core *core = arg;
	char text[CPCI_PMU_TEXT];
	uint64_t code;

	if (!cpci_pmu_read(core->name, "events/", event, text) || strncmp(text, "event=", 6) != 0 ||
	    !cpci_parse_number(text + 6, &code))
		return;
	core->any = true;
	if (code < 64)
		core->low |= 1ULL << code;
	else if (code >= 0x4000 && code < 0x4040)
		core->high |= 1ULL << (code - 0x4000);
}

static bool has_code(const struct cpci_core *core, uint64_t code)
{
	if (code < 64)
		return !core->any || (core->low >> code & 1) != 0;
	if (code >= 0x4000 && code < 0x4040)
		return !core->any || (core->high >> (code - 0x4000) & 1) != 0;
	return true; /* unknown */
}

#endif

static void note_cores(void)
{
	cpci_pmu_each(NULL, note_core);
#if defined(__aarch64__)
	for (size_t i = 0; i < cores.n; i++)
		cpci_pmu_each_file(cores.core[i].name, "events", &cores.core[i], note_code);
#endif
}

const struct cpci_cores *cpci_cores(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, note_cores);
	return &cores;
}

bool cpci_pmu_implements(const struct perf_event_attr *attr)
{
#if defined(__aarch64__)
	const struct cpci_cores *all = cpci_cores();

	for (size_t i = 0; i < all->n; i++) {
		if ((attr->type == PERF_TYPE_RAW || attr->type == all->core[i].type) &&
		    !has_code(&all->core[i], attr->config & 0xffff))
			return false;
	}
#else
	(void)attr; /* unknown */
#endif
	return true;
}

struct find_pmu {
	uint32_t type;
	char *name; /* "": not found yet */
};

static void try_pmu(void *arg, const char *pmu)
{
	struct find_pmu *f = arg;
	uint32_t type;

	if (*f->name == '\0' && cpci_pmu_type(pmu, &type) && type == f->type)
		strlcpy(f->name, pmu, CPCI_PMU_NAME);
}

bool cpci_cores_have_type(uint32_t type)
{
	const struct cpci_cores *all = cpci_cores();
	bool have = false;

	for (size_t i = 0; i < all->n; i++)
		have |= all->core[i].type == type;
	return have;
}

bool cpci_cores_have_cpu(int cpu)
{
	const struct cpci_cores *all = cpci_cores();
	bool have = false;

	for (size_t i = 0; i < all->n && !have; i++)
		have = cpci_pmu_lists_cpu(all->core[i].name, cpu);
	return have;
}

/* The core PMU's name.  It is cached, because each word that may be an attribute looks it up. */
static char raw_name[CPCI_PMU_NAME];

/* Raw codes have this type, whatever the type of the PMU is. */
static void find_raw(void)
{
	struct find_pmu raw = {.type = PERF_TYPE_RAW, .name = raw_name};

	if (cpci_cores()->n > 0 && !cpci_cores_have_type(PERF_TYPE_RAW))
		raw.type = cpci_cores()->core[0].type;
	cpci_pmu_each(&raw, try_pmu);
}

bool cpci_pmu_name(uint32_t type, char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct find_pmu f = {.type = type, .name = name};

	*name = '\0';
	if (type != PERF_TYPE_RAW) {
		cpci_pmu_each(&f, try_pmu);
	} else {
		pthread_once(&once, find_raw);
		strlcpy(name, raw_name, CPCI_PMU_NAME);
	}
	return *name != '\0';
}

/* The kernel's generic events may contain the type of a kind of cores. */
uint32_t cpci_pmu_type_of(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE
		       ? (uint32_t)(attr->config >> CPCI_CORE_SHIFT)
		       : attr->type;
}

bool cpci_pmu_counts_on(const struct perf_event_attr *attr, int cpu)
{
	char pmu[CPCI_PMU_NAME];
	const uint32_t type = cpci_pmu_type_of(attr);

	if (cpci_perf_is_software(attr) || type == 0 ||
	    (type == PERF_TYPE_RAW && !cpci_cores_have_type(type)) || !cpci_pmu_name(type, pmu))
		return true;
	return cpci_pmu_lists_cpu(pmu, cpu);
}
