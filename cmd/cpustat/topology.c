/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topology.c - which CPUs form a core, a socket, a NUMA node or a kind of cores.
 */
#include "cpus.h"

#include "../../libcpc/set/counter.h"
#include "../base/util.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

/* The first number in a topology file of a CPU, or `otherwise`. */
static int first_number(const char *sysfs, int cpu, const char *file, int otherwise)
{
	char path[PATH_MAX];
	int number;
	bool known;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cpu%d/topology/%s", sysfs, cpu, file);
	f = fopen(path, "re");
	known = f != NULL && fscanf(f, "%d", &number) == 1 && number >= 0;
	if (f != NULL)
		fclose(f);
	return known ? number : otherwise;
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

struct run_cpu *topology_find(const char *sysfs, const struct cpus *cpus)
{
	struct run_cpu *cpu = xcalloc(cpus->n, sizeof(*cpu));

	for (size_t i = 0; i < cpus->n; i++) {
		int id = cpus->id[i];
		char pmu[NAME_MAX + 1];

		cpc_cpu_pmu(id, pmu, sizeof(pmu));
		cpu[i] = (struct run_cpu){
			.id = id,
			/* Its first CPU: unlike core_id, unique among all sockets and dies. */
			.core = first_number(sysfs, id, "core_cpus_list", id),
			.socket = first_number(sysfs, id, "physical_package_id", 0),
			.node = node_of(sysfs, id),
			.pmu = xstrdup(pmu),
		};
	}
	return cpu;
}
