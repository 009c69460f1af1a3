/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topology.c - which CPUs form a core, a socket or a NUMA node.
 */
#include "topology.h"

#include "../common/out.h"
#include "../common/util.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool unit_parse(const char *text, enum unit_kind *kind)
{
	static const char *const name[] = {
		[UNIT_CORE] = "core",
		[UNIT_SOCKET] = "socket",
		[UNIT_NODE] = "node",
		[UNIT_ALL] = "all",
	};

	for (enum unit_kind i = UNIT_CORE; i <= UNIT_ALL; i++) {
		if (strcmp(text, name[i]) == 0) {
			*kind = i;
			return true;
		}
	}
	return false;
}

/* The first number in a topology file of a CPU, or -1. */
static int first_number(const char *sysfs, int cpu, const char *file)
{
	char path[PATH_MAX];
	int number = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu%d/topology/%s", sysfs, cpu, file);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &number) != 1)
		number = -1;
	fclose(f);
	return number;
}

/* The first CPU of the core; core_id is unique only within a socket or die. */
static int core_of(const char *sysfs, int cpu)
{
	int first = first_number(sysfs, cpu, "core_cpus_list");

	if (first == -1) /* the name of the file before Linux 5.3 */
		first = first_number(sysfs, cpu, "thread_siblings_list");
	return first != -1 ? first : cpu;
}

static int socket_of(const char *sysfs, int cpu)
{
	int id = first_number(sysfs, cpu, "physical_package_id");

	return id != -1 ? id : 0;
}

/* The directory of a CPU has a link nodeN to its node. */
static int node_of(const char *sysfs, int cpu)
{
	char path[PATH_MAX], rest;
	int node = 0, number;
	struct dirent *de;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/cpu%d", sysfs, cpu);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while ((de = readdir(dir)) != NULL) {
		if (sscanf(de->d_name, "node%d%c", &number, &rest) == 1)
			node = number;
	}
	closedir(dir);
	return node;
}

static int unit_of(const char *sysfs, enum unit_kind kind, int cpu)
{
	switch (kind) {
	case UNIT_CORE:
		return core_of(sysfs, cpu);
	case UNIT_SOCKET:
		return socket_of(sysfs, cpu);
	case UNIT_NODE:
		return node_of(sysfs, cpu);
	case UNIT_ALL:
		return ROW_ALL;
	default:
		return cpu;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct units units_find(const char *sysfs, enum unit_kind kind, const struct cpus *cpus)
{
	struct unit *own = xcalloc(cpus->n, sizeof(*own)); /* of each CPU */
	struct units units = {0};

	units.unit = xcalloc(cpus->n, sizeof(*units.unit));
	units.of = xcalloc(cpus->n, sizeof(*units.of));
	for (size_t i = 0; i < cpus->n; i++)
		units.unit[i].id = own[i].id = unit_of(sysfs, kind, cpus->id[i]);
	qsort(units.unit, cpus->n, sizeof(*units.unit), by_id);
	for (size_t i = 0; i < cpus->n; i++) {
		if (i == 0 || units.unit[units.n - 1].id != units.unit[i].id)
			units.unit[units.n++] = units.unit[i];
	}
	for (size_t i = 0; i < cpus->n; i++) {
		struct unit *unit =
			bsearch(&own[i], units.unit, units.n, sizeof(*units.unit), by_id);

		unit->ncpus++;
		units.of[i] = (size_t)(unit - units.unit);
	}
	free(own);
	return units;
}

void units_free(struct units *units)
{
	free(units->unit);
	free(units->of);
	*units = (struct units){0};
}
