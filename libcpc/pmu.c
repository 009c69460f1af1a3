/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pmu.c - the PMUs that the kernel exports: their types, CPUs and fields.
 *
 * A directory for each, /sys/bus/event_source/devices/PMU, has the files type, cpus or
 * cpumask, and the directories events and format; a format says where in config, config1
 * and config2 the bits of a field go (Documentation/ABI/testing/
 * sysfs-bus-event_source-devices-format and -events).
 */
#include "cpc_impl.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/event_source/devices"

static FILE *open_file(const char *pmu, const char *dir, const char *file)
{
	char path[512];

	if (strchr(file, '/') != NULL || *file == '.' ||
	    (size_t)snprintf(path, sizeof(path), DEVICES "/%s/%s%s", pmu, dir, file) >=
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

/* Visits the names in a directory that do not begin with a dot. */
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
	each_name(DEVICES, arg, visit);
}

void cpci_pmu_each_file(const char *pmu, const char *dir, void *arg,
			void (*visit)(void *arg, const char *file))
{
	char path[512];

	snprintf(path, sizeof(path), DEVICES "/%s/%s", pmu, dir);
	each_name(path, arg, visit);
}

bool cpci_pmu_format(const char *pmu, const char *field, char *format)
{
	static const char *const words[] = {"config:", "config1:", "config2:"};

	if (!cpci_pmu_read(pmu, "format/", field, format))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strncmp(format, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false; /* of what can only be sampled */
}

bool cpci_pmu_put_bits(struct cpci_term *term, const char *format, uint64_t val, uint64_t *max)
{
	uint64_t *word = &term->config, left = val;
	unsigned bits = 0;
	char *end;

	if (strncmp(format, "config1:", 8) == 0)
		word = &term->config1;
	else if (strncmp(format, "config2:", 8) == 0)
		word = &term->config2;
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

void cpci_pmu_walk_format(const char *pmu, void *arg, void (*action)(void *arg, const char *field))
{
	cpci_pmu_each_file(pmu, "format", arg, action);
}

struct mask {
	const char *pmu;
	struct cpci_term ones;
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

	cpci_pmu_walk_format(pmu, &mask, add_field);
	return mask.ones.config != 0 ? mask.ones.config : UINT64_MAX;
}

struct find_pmu {
	uint32_t type;
	char *name;
	bool found;
};

static bool read_type(const char *pmu, uint32_t *type)
{
	char text[CPCI_PMU_TEXT];
	uint64_t val;

	if (strlen(pmu) >= CPCI_PMU_NAME || !cpci_pmu_read(pmu, "", "type", text) ||
	    !cpci_parse_number(text, &val))
		return false;
	*type = (uint32_t)val;
	return true;
}

static void try_pmu(void *arg, const char *pmu)
{
	struct find_pmu *f = arg;
	uint32_t type;

	if (!f->found && read_type(pmu, &type) && type == f->type) {
		strlcpy(f->name, pmu, CPCI_PMU_NAME);
		f->found = true;
	}
}

bool cpci_pmu_name(uint32_t type, char *name)
{
	struct find_pmu f = {.type = type, .name = name};

	/* Codes of the core PMU are of this type, whatever the PMU's own is (Arm). */
	if (type == PERF_TYPE_RAW && cpci_cores()->n > 0)
		f.type = cpci_cores()->core[0].type;
	cpci_pmu_each(&f, try_pmu);
	return f.found;
}

/* "0-3,8", of any length: is it one of them? */
static bool lists(FILE *f, int cpu)
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

bool cpci_pmu_counts_on(const struct cpci_term *term, int cpu)
{
	char pmu[CPCI_PMU_NAME];
	uint32_t type = term->type;
	bool listed;
	FILE *f;

	/* The kernel's generic events may say which kind of core they are for. */
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		type = (uint32_t)(term->config >> CPCI_CORE_SHIFT);
	if (cpci_term_is_software(term) || type == 0 || type == PERF_TYPE_RAW ||
	    !cpci_pmu_name(type, pmu))
		return true;
	f = open_file(pmu, "", "cpumask");
	if (f == NULL)
		f = open_file(pmu, "", "cpus");
	if (f == NULL)
		return true;
	listed = lists(f, cpu);
	fclose(f);
	return listed;
}

/* ---- the PMUs of CPU cores -------------------------------------------------- */

static struct cpci_cores cores;

/* Only they have the file cpus; a PMU of all cores of x86 has none, and is alone. */
static void note_core(void *arg, const char *pmu)
{
	char text[CPCI_PMU_TEXT];
	struct cpci_core *core = &cores.core[cores.n];

	(void)arg;
	if (cores.n == CPCI_MAX_CORES || !cpci_pmu_read(pmu, "", "cpus", text) ||
	    !read_type(pmu, &core->type))
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
	return true; /* nobody tells */
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

bool cpci_pmu_implements(const struct cpci_term *term)
{
#if defined(__aarch64__)
	const struct cpci_cores *all = cpci_cores();

	for (size_t i = 0; i < all->n; i++) {
		if ((term->type == PERF_TYPE_RAW || term->type == all->core[i].type) &&
		    !has_code(&all->core[i], term->config & 0xffff))
			return false;
	}
#else
	(void)term; /* nobody tells */
#endif
	return true;
}

int cpci_pmu_spread(struct cpci_event *event)
{
	const struct cpci_cores *all = cpci_cores();
	const struct cpci_event one = *event;

	if (all->n < 2)
		return 0;
	event->nterms = 0;
	for (uint_t i = 0; i < one.nterms; i++) {
		const struct cpci_term *term = &one.term[i];
		bool generic = term->type == PERF_TYPE_HARDWARE || term->type == PERF_TYPE_HW_CACHE;
		size_t n = generic || term->type == PERF_TYPE_RAW ? all->n : 1;

		if (event->nterms + n > CPCI_MAX_TERMS)
			return -1;
		for (size_t k = 0; k < n; k++) {
			struct cpci_term *copy = &event->term[event->nterms++];

			*copy = *term;
			if (generic)
				copy->config |= (uint64_t)all->core[k].type << CPCI_CORE_SHIFT;
			else if (n > 1)
				copy->type = all->core[k].type;
		}
	}
	return 0;
}
