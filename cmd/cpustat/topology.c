/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topology.c - which CPUs form a core, a socket or a NUMA node.
 */
#include "topology.h"

#include "../base/util.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

/* The first number in a topology file of a CPU; -1: unknown. */
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

/* The first CPU of the core.  Unlike core_id, it is unique among all sockets and dies. */
static int core_of(const char *sysfs, int cpu)
{
	int first = first_number(sysfs, cpu, "core_cpus_list");

	if (first == -1) /* Linux before 5.3 */
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

struct run_cpu *topology_find(const char *sysfs, const struct cpus *cpus)
{
	struct run_cpu *cpu = xcalloc(cpus->n, sizeof(*cpu));

	for (size_t i = 0; i < cpus->n; i++) {
		cpu[i] = (struct run_cpu){
			.id = cpus->id[i],
			.core = core_of(sysfs, cpus->id[i]),
			.socket = socket_of(sysfs, cpus->id[i]),
			.node = node_of(sysfs, cpus->id[i]),
		};
	}
	return cpu;
}
