/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.c - the hierarchy of cgroups of this machine.
 */
#include "cgroups.h"

#include "say.h"
#include "util.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define MOUNT "/sys/fs/cgroup"

/* The controllers of version 1 that have a hierarchy, the first choice first. */
static const struct {
	const char *name;
	enum lwps_hierarchy hierarchy;
} controllers[] = {
	{"memory", LWPS_MEMORY},
	{"cpuacct", LWPS_CPUACCT},
	{"pids", LWPS_PIDS},
};

#define NCONTROLLERS (sizeof(controllers) / sizeof(*controllers))

const char *cgroups_controller(enum lwps_hierarchy hierarchy)
{
	for (size_t i = 0; i < NCONTROLLERS; i++) {
		if (controllers[i].hierarchy == hierarchy)
			return controllers[i].name;
	}
	return NULL;
}

/* Where the hierarchy is mounted. */
static void write_root(enum lwps_hierarchy hierarchy, char *root, size_t size)
{
	const char *controller = cgroups_controller(hierarchy);

	snprintf(root, size, MOUNT "%s%s", controller != NULL ? "/" : "",
		 controller != NULL ? controller : "");
}

/* Is a file system of this type mounted there? */
static bool is_mounted(const char *path, unsigned magic)
{
	struct statfs fs;

	if (statfs(path, &fs) == 0)
		return fs.f_type == (__typeof__(fs.f_type))magic;
	if (errno != ENOENT)
		die("cannot find the hierarchy of cgroups: %s: %s", path, strerror(errno));
	return false;
}

enum lwps_hierarchy cgroups_hierarchy(void)
{
	char root[64];

	if (is_mounted(MOUNT, CGROUP2_SUPER_MAGIC))
		return LWPS_UNIFIED;
	for (size_t i = 0; i < NCONTROLLERS; i++) {
		write_root(controllers[i].hierarchy, root, sizeof(root));
		if (is_mounted(root, CGROUP_SUPER_MAGIC))
			return controllers[i].hierarchy;
	}
	return LWPS_UNIFIED;
}

size_t cgroups_count(enum lwps_hierarchy hierarchy)
{
	char root[64];
	char *const paths[] = {root, NULL};
	size_t n = 0;
	FTSENT *entry;
	FTS *tree;

	write_root(hierarchy, root, sizeof(root));
	tree = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);
	while (tree != NULL && (entry = fts_read(tree)) != NULL)
		n += entry->fts_info == FTS_D;
	if (tree != NULL)
		fts_close(tree);
	return n;
}

/* Finds the path of the only cgroup of a name; free it.  Returns the number of such cgroups. */
static size_t find_named(char *root, const char *name, char **path)
{
	char *const paths[] = {root, NULL};
	FTSENT *entry;
	size_t n = 0;
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);

	*path = NULL;
	while (tree != NULL && (entry = fts_read(tree)) != NULL) {
		if (entry->fts_info != FTS_D || strcmp(entry->fts_name, name) != 0)
			continue;
		if (n++ == 0)
			*path = xstrdup(entry->fts_path);
	}
	if (tree != NULL)
		fts_close(tree);
	return n;
}

/* The directory of the cgroup; free it.  NULL after a message. */
static char *find_directory(char *root, const char *text)
{
	char *path = NULL, below[PATH_MAX], *real;
	const size_t n = strlen(root);
	size_t found;

	if (strchr(text, '/') == NULL) {
		found = find_named(root, text, &path);
		if (found == 1)
			return path;
		free(path);
		if (found == 0)
			say("--cgroup '%s': no cgroup below %s has this name", text, root);
		else
			say("--cgroup '%s': %zu cgroups below %s have this name; give the path of "
			    "one",
			    text, found, root);
		return NULL;
	}
	if (strncmp(text, root, n) == 0 && (text[n] == '/' || text[n] == '\0'))
		text += n;
	snprintf(below, sizeof(below), "%s/%s", root, text);
	real = realpath(below, NULL);
	if (real != NULL && strncmp(real, root, n) == 0 && (real[n] == '/' || real[n] == '\0'))
		return real;
	free(real);
	say("--cgroup '%s': there is no such cgroup in %s", text, root);
	return NULL;
}

bool cgroups_find(const char *text, uint64_t *id, uint64_t *root_id, unsigned *depth)
{
	char root[64], *path;
	struct stat at, below;
	bool found;

	write_root(cgroups_hierarchy(), root, sizeof(root));
	path = find_directory(root, text);
	if (path == NULL)
		return false;
	found = stat(root, &at) == 0 && stat(path, &below) == 0 && S_ISDIR(below.st_mode);
	if (!found)
		say("--cgroup '%s': there is no such cgroup in %s", text, root);
	else {
		*id = below.st_ino; /* on machines of 64 bits, the id */
		*root_id = at.st_ino;
		*depth = 0;
		for (const char *c = path + strlen(root); *c != '\0'; c++)
			*depth += *c == '/';
	}
	free(path);
	return found;
}

/* ---- paths ---------------------------------------------------------------------------- */

void cgroups_write_path(const struct lwps_path *path, uint64_t id, char *text, size_t size)
{
	const char *part = path->parts, *end = path->parts + sizeof(path->parts);
	size_t at = size - 1;

	if (path->nparts == 0) {
		snprintf(text, size, path->cut ? "...#%llu" : "/", (unsigned long long)id);
		return;
	}
	text[at] = '\0';
	for (unsigned i = 0; i < path->nparts && part < end; i++) {
		size_t n = strnlen(part, (size_t)(end - part));

		if (n + 1 + strlen("...") > at)
			break;
		at -= n;
		memcpy(text + at, part, n);
		text[--at] = '/';
		part += n + 1;
	}
	for (unsigned i = 0; path->cut && i < strlen("..."); i++)
		text[--at] = '.';
	memmove(text, text + at, size - at);
}

bool cgroups_of(enum lwps_hierarchy hierarchy, pid_t pid, char *path, size_t size)
{
	const char *controller = cgroups_controller(hierarchy);
	char name[32], line[4096];
	char *end, *deleted;
	bool found = false;
	size_t n;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	while (!found && f != NULL && fgets(line, sizeof(line), f) != NULL) {
		found = controller != NULL ? has_controller(line, controller)
					   : strncmp(line, "0::", 3) == 0;
	}
	if (f != NULL)
		fclose(f);
	if (!found)
		return false;
	line[strcspn(line, "\n")] = '\0';
	end = strchr(strchr(line, ':') + 1, ':') + 1;
	deleted = strstr(end, " (deleted)"); /* of a zombie */
	if (deleted != NULL && deleted[strlen(" (deleted)")] == '\0')
		*deleted = '\0';
	n = strlen(end);
	if (n < size)
		snprintf(path, size, "%s", end);
	else
		snprintf(path, size, "...%s", strchrnul(end + n + strlen("...") + 1 - size, '/'));
	return true;
}
