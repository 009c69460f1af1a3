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

/* The root may be a link: version 1 mounts cpu,cpuacct and links cpuacct to it. */
static FTS *open_tree(char *root)
{
	char *const paths[] = {root, NULL};

	return fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL);
}

size_t cgroups_count(enum lwps_hierarchy hierarchy)
{
	char root[64];
	size_t n = 0;
	FTSENT *entry;
	FTS *tree;

	write_root(hierarchy, root, sizeof(root));
	tree = open_tree(root);
	while (tree != NULL && (entry = fts_read(tree)) != NULL)
		n += entry->fts_info == FTS_D;
	if (tree != NULL)
		fts_close(tree);
	return n;
}

/* Was this entry not read?  Those of cgroups that were removed meanwhile are left out. */
static bool is_unread(const FTSENT *entry)
{
	return (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS ||
		entry->fts_info == FTS_ERR) &&
	       entry->fts_errno != ENOENT;
}

/* The path of the only cgroup of a name; free it.  NULL after a message. */
static char *find_named(const char *mount, char *root, const char *name)
{
	FTS *tree = open_tree(root);
	char *path = NULL;
	FTSENT *entry;
	size_t n = 0;
	int error = 0;

	while (tree != NULL && (entry = fts_read(tree)) != NULL) {
		if (is_unread(entry))
			error = entry->fts_errno;
		if (entry->fts_info != FTS_D || strcmp(entry->fts_name, name) != 0)
			continue;
		if (n++ == 0)
			path = xstrdup(entry->fts_path);
	}
	if (errno != 0) /* fts_read() clears it at the end of the tree */
		error = errno;
	if (tree != NULL)
		fts_close(tree);
	if (error == 0 && n == 1)
		return path;
	free(path);
	if (error != 0)
		say("--cgroup '%s': cannot read all cgroups below %s: %s; give the path of one",
		    name, mount, strerror(error));
	else if (n == 0)
		say("--cgroup '%s': no cgroup below %s has this name", name, mount);
	else
		say("--cgroup '%s': %zu cgroups below %s have this name; give the path of one",
		    name, n, mount);
	return NULL;
}

/* The part of a path below the root; NULL: it is not there. */
static const char *part_below(const char *path, const char *root)
{
	const size_t n = strlen(root);

	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

/*
 * The directory of the cgroup; free it.  `root` is where the mount point `mount` leads to.
 * NULL after a message.
 */
static char *find_directory(const char *mount, char *root, const char *text)
{
	char *path, full[PATH_MAX];
	const char *part;

	if (strchr(text, '/') == NULL)
		return find_named(mount, root, text);
	part = part_below(text, mount);
	if (part == NULL)
		part = part_below(text, root);
	snprintf(full, sizeof(full), "%s/%s", root, part != NULL ? part : text);
	path = realpath(full, NULL);
	if (path != NULL && part_below(path, root) != NULL)
		return path;
	free(path);
	say("--cgroup '%s': there is no such cgroup in %s", text, mount);
	return NULL;
}

bool cgroups_find(const char *text, uint64_t *id, uint64_t *root_id, unsigned *depth)
{
	char mount[64], *root, *path;
	struct stat at, below;
	bool found;

	write_root(cgroups_hierarchy(), mount, sizeof(mount));
	root = realpath(mount, NULL);
	if (root == NULL) {
		say("--cgroup '%s': %s: %s", text, mount, strerror(errno));
		return false;
	}
	path = find_directory(mount, root, text);
	found = path != NULL && stat(root, &at) == 0 && stat(path, &below) == 0 &&
		S_ISDIR(below.st_mode);
	if (path != NULL && !found)
		say("--cgroup '%s': there is no such cgroup in %s", text, mount);
	if (found) {
		*id = below.st_ino; /* on machines of 64 bits, the id */
		*root_id = at.st_ino;
		*depth = 0;
		for (const char *c = part_below(path, root); *c != '\0'; c++)
			*depth += *c == '/';
	}
	free(path);
	free(root);
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

bool cgroups_of(enum lwps_hierarchy hierarchy, pid_t pid, char *path, size_t size)
{
	const char *controller = cgroups_controller(hierarchy);
	const char *begin = "";
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
	/* Outside of our cgroup namespace, these stand for names that are not known. */
	while (strncmp(end, "/..", 3) == 0 && (end[3] == '/' || end[3] == '\0')) {
		end += 3;
		begin = "...";
	}
	n = strlen(begin) + strlen(end);
	if (n < size)
		snprintf(path, size, "%s%s", begin, end);
	else
		snprintf(path, size, "...%s", strchrnul(end + n + strlen("...") + 1 - size, '/'));
	return true;
}
