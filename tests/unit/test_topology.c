/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_topology.c - groups CPUs by core, socket and node, in folders like those of sysfs.
 */
#include "unit.h"

#include "../../cmd/cpustat/cpus.h"
#include "../../cmd/rows/filters.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char tree[] = "/tmp/test_topology.XXXXXX"; /* a new one for each test */

/* Makes the directories above a file of the tree, and the file. */
static void put(const char *text, const char *fmt, ...)
{
	char name[200], path[PATH_MAX];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", tree, name);
	for (char *p = path + sizeof(tree); (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	strcpy(tree + strlen(tree) - 6, "XXXXXX");
	return mkdtemp(tree) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command);
}

/* Checks the groups of CPUs 0 to n-1: their ids and numbers of CPUs. */
static void expect(enum scope scope, int n, const int *of, const int *ids, size_t nids)
{
	int id[2000];
	const struct cpus cpus = {.n = (size_t)n, .id = id};
	struct run_cpu *cpu;
	struct cpu_groups groups;
	size_t total = 0;

	for (int i = 0; i < n; i++)
		id[i] = i;
	cpu = topology_find(tree, &cpus);
	groups = cpu_groups_find(scope, cpu, cpus.n);
	assert_int_equal(groups.n, nids);
	for (size_t i = 0; i < nids; i++) {
		assert_int_equal(groups.group[i].id, ids[i]);
		total += groups.group[i].ncpus;
	}
	assert_int_equal(total, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(groups.group[groups.of[i]].id, of[i]);
	cpu_groups_free(&groups);
	for (int i = 0; i < n; i++)
		free(cpu[i].pmu);
	free(cpu);
}

/* Two sockets of two cores of two threads, numbered as on most servers. */
static void server(void **state)
{
	static const char *const core[] = {"0,4", "1,5", "2,6", "3,7"};
	static const int cores[] = {0, 1, 2, 3, 0, 1, 2, 3}, core_ids[] = {0, 1, 2, 3};
	static const int sockets[] = {0, 36, 0, 36, 0, 36, 0, 36}, socket_ids[] = {0, 36};
	static const int nodes[] = {0, 2, 0, 2, 0, 2, 0, 2}, node_ids[] = {0, 2};
	static const int all[8] = {0};
	static const int cpus[] = {0, 1, 2, 3, 4, 5, 6, 7};

	(void)state;
	for (int i = 0; i < 8; i++) {
		put(core[i % 4], "cpu%d/topology/core_cpus_list", i);
		put(i % 2 ? "36\n" : "0\n", "cpu%d/topology/physical_package_id", i);
		put(i % 2 ? "0\n" : "1\n", "cpu%d/topology/core_id", i);
		put("", "cpu%d/node%d/cpulist", i, i % 2 ? 2 : 0);
		put("", "cpu%d/nodes", i);
	}
	expect(SCOPE_CPU, 8, cpus, cpus, 8);
	expect(SCOPE_CORE, 8, cores, core_ids, ARRAY_SIZE(core_ids));
	expect(SCOPE_SOCKET, 8, sockets, socket_ids, ARRAY_SIZE(socket_ids));
	expect(SCOPE_NODE, 8, nodes, node_ids, ARRAY_SIZE(node_ids));
	expect(SCOPE_ALL, 8, all, all, 1);
}

/* No topology in sysfs, or one whose sockets are unknown (-1). */
static void unknown(void **state)
{
	static const int cpus[] = {0, 1}, zeros[] = {0, 0};

	(void)state;
	expect(SCOPE_CORE, 2, cpus, cpus, 2);
	expect(SCOPE_SOCKET, 2, zeros, zeros, 1);
	expect(SCOPE_NODE, 2, zeros, zeros, 1);
	put("-1\n", "cpu0/topology/physical_package_id");
	put("-1\n", "cpu1/topology/physical_package_id");
	expect(SCOPE_SOCKET, 2, zeros, zeros, 1);
}

/* More CPUs than a cpu_set_t or a page of text has room for. */
static void many(void **state)
{
	static int of[2000], ids[1000];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		char text[16];

		of[i] = i % 1000;
		ids[i % 1000] = i % 1000;
		snprintf(text, sizeof(text), "%d,%d\n", i % 1000, i % 1000 + 1000);
		put(text, "cpu%d/topology/core_cpus_list", i);
	}
	expect(SCOPE_CORE, 2000, of, ids, 1000);
}

static void words(void **state)
{
	(void)state;
	for (enum scope scope = SCOPE_LWP; scope < SCOPES; scope++)
		assert_int_equal(scope_parse(scope_name(scope)), scope);
	assert_int_equal(scope_parse(""), SCOPE_NONE);
	assert_int_equal(scope_parse("Core"), SCOPE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(server, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(many, setup, teardown),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
