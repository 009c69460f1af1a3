/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pmu.c - the PMUs that the kernel exports: their types, CPUs, events and fields.
 *
 * The directory /sys/bus/event_source/devices/PMU of each has the files type, cpus or
 * cpumask, and the directories events and format.  A format gives the bits of a field in
 * config to config3 (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and
 * -events).
 */
#include "perf.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_file(const char *pmu, const char *dir, const char *file)
{
	char path[512];

	if (strchr(file, '/') != NULL || *file == '.' ||
	    (size_t)snprintf(path, sizeof(path), CPCI_PMU_DEVICES "/%s/%s%s", pmu, dir, file) >=
		    sizeof(path))
		return NULL;
	return fopen(path, "re");
}

bool cpci_pmu_read(const char *pmu, const char *dir, const char *file, char *text)
{
	FILE *f = open_file(pmu, dir, file);
	bool got = false;

	if (f == NULL)
		return false;
	if (fgets(text, CPCI_PMU_TEXT, f) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		got = true;
	}
	fclose(f);
	return got;
}

/* Visits the names in a directory except those that begin with a dot. */
static void each_name(const char *path, void *arg, void (*visit)(void *arg, const char *name))
{
	DIR *dir = opendir(path);
	struct dirent *de;

	if (dir == NULL)
		return;
	while ((de = readdir(dir)) != NULL) {
		if (de->d_name[0] != '.')
			visit(arg, de->d_name);
	}
	closedir(dir);
}

void cpci_pmu_each(void *arg, void (*visit)(void *arg, const char *pmu))
{
	each_name(CPCI_PMU_DEVICES, arg, visit);
}

void cpci_pmu_each_file(const char *pmu, const char *dir, void *arg,
			void (*visit)(void *arg, const char *file))
{
	char path[512];

	snprintf(path, sizeof(path), CPCI_PMU_DEVICES "/%s/%s", pmu, dir);
	each_name(path, arg, visit);
}

/* Is this the whole of config1, config2 or config3? */
static bool is_word(const char *field)
{
	return strlen(field) == 7 && strncmp(field, "config", 6) == 0 && field[6] >= '1' &&
	       field[6] <= '3';
}

bool cpci_pmu_format(const char *pmu, const char *field, char *format)
{
	static const char *const words[] = {"config:", "config1:", "config2:", "config3:"};

	if (is_word(field)) {
		snprintf(format, CPCI_PMU_TEXT, "%s:0-63", field);
		return true;
	}
	if (!cpci_pmu_read(pmu, "format/", field, format))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strncmp(format, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false; /* a field that is for sampling only */
}

bool cpci_pmu_put_bits(struct perf_event_attr *attr, const char *format, uint64_t val,
		       uint64_t *max)
{
	__u64 *word = &attr->config;
	uint64_t left = val;
	unsigned bits = 0;
	char *end;

	if (strncmp(format, "config1:", 8) == 0)
		word = &attr->config1;
	else if (strncmp(format, "config2:", 8) == 0)
		word = &attr->config2;
	else if (strncmp(format, "config3:", 8) == 0)
		word = cpci_perf_config3(attr);
	for (const char *p = strchr(format, ':'); p != NULL && *p != '\0'; p = end) {
		unsigned long lo = strtoul(p + 1, &end, 10), hi = lo;

		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (end == p + 1 || hi < lo || hi > 63)
			break;
		for (unsigned long bit = lo; bit <= hi; bit++, bits++, left >>= 1)
			*word = (*word & ~(1ULL << bit)) | (left & 1) << bit;
	}
	*max = bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
	return val <= *max;
}

struct mask {
	const char *pmu;
	struct perf_event_attr ones;
};

static void add_field(void *arg, const char *field)
{
	struct mask *mask = arg;
	char format[CPCI_PMU_TEXT];
	uint64_t max;

	if (cpci_pmu_format(mask->pmu, field, format))
		cpci_pmu_put_bits(&mask->ones, format, UINT64_MAX, &max);
}

uint64_t cpci_pmu_mask(const char *pmu)
{
	struct mask mask = {.pmu = pmu};

	cpci_pmu_each_file(pmu, "format", &mask, add_field);
	return mask.ones.config != 0 ? mask.ones.config : UINT64_MAX;
}

bool cpci_pmu_type(const char *pmu, uint32_t *type)
{
	char text[CPCI_PMU_TEXT];
	uint64_t val;

	if (strlen(pmu) >= CPCI_PMU_NAME || !cpci_pmu_read(pmu, "", "type", text) ||
	    !cpci_parse_number(text, &val))
		return false;
	*type = (uint32_t)val;
	return true;
}

/* Is the CPU in a list such as "0-3,8", of any length? */
static bool list_has_cpu(FILE *f, int cpu)
{
	int first, last, c = ',';

	while (c == ',' && fscanf(f, "%d", &first) == 1) {
		last = first;
		c = getc(f);
		if (c == '-' && fscanf(f, "%d", &last) == 1)
			c = getc(f);
		if (first <= cpu && cpu <= last)
			return true;
	}
	return false;
}

int cpci_pmu_cpu(const char *pmu)
{
	FILE *f = open_file(pmu, "", "cpumask");
	int cpu = -1;

	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &cpu) != 1)
		cpu = -1;
	fclose(f);
	return cpu;
}

bool cpci_pmu_lists_cpu(const char *pmu, int cpu)
{
	FILE *f = open_file(pmu, "", "cpumask");
	bool listed;

	if (f == NULL)
		f = open_file(pmu, "", "cpus");
	if (f == NULL)
		return true;
	listed = list_has_cpu(f, cpu);
	fclose(f);
	return listed;
}
