/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.c - the hierarchy of cgroups of this machine.
 */
#include "cgroups.h"

#include <fts.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#define MOUNT "/sys/fs/cgroup"

/* The controllers of version 1 that have a hierarchy, the first choice first. */
static const struct {
	const char *name;
	enum account_hierarchy hierarchy;
} controllers[] = {
	{"memory", ACCOUNT_MEMORY},
	{"cpuacct", ACCOUNT_CPUACCT},
	{"pids", ACCOUNT_PIDS},
};

#define NCONTROLLERS (sizeof(controllers) / sizeof(*controllers))

/* Is it in the list of controllers of a line of /proc/PID/cgroup, "7:cpu,cpuacct:/path"? */
static bool has_controller(const char *line, const char *name)
{
	const char *list = strchr(line, ':');
	size_t n = strlen(name);

	if (list == NULL)
		return false;
	do {
		list++;
		if (strncmp(list, name, n) == 0 && (list[n] == ',' || list[n] == ':'))
			return true;
		list += strcspn(list, ",:");
	} while (*list == ',');
	return false;
}

enum account_hierarchy cgroups_hierarchy(void)
{
	size_t best = NCONTROLLERS;
	char line[4096];
	struct statfs fs;
	FILE *f;

	if (statfs(MOUNT, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
		return ACCOUNT_UNIFIED;
	f = fopen("/proc/self/cgroup", "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		for (size_t i = 0; i < best; i++) {
			if (has_controller(line, controllers[i].name))
				best = i;
		}
	}
	if (f != NULL)
		fclose(f);
	return best < NCONTROLLERS ? controllers[best].hierarchy : ACCOUNT_UNIFIED;
}

const char *cgroups_controller(enum account_hierarchy hierarchy)
{
	for (size_t i = 0; i < NCONTROLLERS; i++) {
		if (controllers[i].hierarchy == hierarchy)
			return controllers[i].name;
	}
	return NULL;
}

size_t cgroups_count(enum account_hierarchy hierarchy)
{
	const char *controller = cgroups_controller(hierarchy);
	char root[64] = MOUNT;
	char *const paths[] = {root, NULL};
	size_t n = 0;
	FTSENT *entry;
	FTS *tree;

	if (controller != NULL)
		snprintf(root, sizeof(root), MOUNT "/%s", controller);
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);
	while (tree != NULL && (entry = fts_read(tree)) != NULL)
		n += entry->fts_info == FTS_D;
	if (tree != NULL)
		fts_close(tree);
	return n;
}
