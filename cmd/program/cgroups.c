/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.c - the hierarchy of cgroups of this machine.
 */
#include "cgroups.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../rows/key_name.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

/* Where the hierarchies are mounted: of version 2, then of controllers of version 1, best first. */
static const struct {
	const char *root, *controller;
} mounts[] = {
	[LWPS_UNIFIED] = {MOUNT, NULL},
	[LWPS_MEMORY] = {MOUNT "/memory", "memory"},
	[LWPS_CPUACCT] = {MOUNT "/cpuacct", "cpuacct"},
	[LWPS_PIDS] = {MOUNT "/pids", "pids"},
};

const char *cgroups_controller(enum lwps_hierarchy hierarchy)
{
	return mounts[hierarchy].controller;
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
	if (is_mounted(MOUNT, CGROUP2_SUPER_MAGIC))
		return LWPS_UNIFIED;
	for (enum lwps_hierarchy hierarchy = LWPS_MEMORY; hierarchy <= LWPS_PIDS; hierarchy++) {
		if (is_mounted(mounts[hierarchy].root, CGROUP_SUPER_MAGIC))
			return hierarchy;
	}
	die("cannot find the hierarchy of cgroups: it is not mounted; run mount -t cgroup2 cgroup2 " MOUNT);
}

/* The root may be a link: version 1 mounts cpu,cpuacct and links cpuacct to it. */
static FTS *open_tree(const char *root)
{
	char *const paths[] = {(char *)(uintptr_t)root, NULL};

	return xmade(
		fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR, NULL));
}

size_t cgroups_count(enum lwps_hierarchy hierarchy)
{
	FTS *tree = open_tree(mounts[hierarchy].root);
	size_t n = 0;
	FTSENT *entry;

	while ((entry = fts_read(tree)) != NULL)
		n += entry->fts_info == FTS_D;
	fts_close(tree);
	return n;
}

/* Could this entry not be read, though its cgroup still exists? */
static bool is_unread(const FTSENT *entry)
{
	return (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS ||
		entry->fts_info == FTS_ERR) &&
	       entry->fts_errno != ENOENT;
}

/* ---- cgroups of users ------------------------------------------------------------------ */

/* The manager of a user's own units.  It creates and names all cgroups below its own. */
static bool is_user_manager(const char *name, size_t n)
{
	static const char begin[] = "user@", end[] = ".service";
	const size_t nbegin = strlen(begin), nend = strlen(end);

	return n > nbegin + nend && strncmp(name, begin, nbegin) == 0 &&
	       strncmp(name + n - nend, end, nend) == 0;
}

size_t cgroups_of_root(enum lwps_hierarchy hierarchy, const char *path)
{
	const char *root = mounts[hierarchy].root;
	bool exists = *path == '/'; /* else its beginning is unknown */
	char file[PATH_MAX];
	struct stat st;

	for (size_t at = strspn(path, "/"), n; path[at] != '\0'; at += strspn(path + at, "/")) {
		n = strcspn(path + at, "/");
		if (is_user_manager(path + at, n))
			return at + n;
		at += n;
		snprintf(file, sizeof(file), "%s%.*s", root, (int)at, path);
		exists = exists && stat(file, &st) == 0;
		if (exists && st.st_uid != 0)
			return at;
	}
	return strlen(path);
}

/* Can another user than root have created the cgroup? */
static bool is_of_user(enum lwps_hierarchy hierarchy, const char *path)
{
	return cgroups_of_root(hierarchy, path) < strlen(path);
}

bool cgroups_exists(enum lwps_hierarchy hierarchy, const char *path)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s%s", mounts[hierarchy].root, path);
	return *path != '/' || access(file, F_OK) == 0; /* else its beginning is unknown */
}

/* ---- look-ups ---------------------------------------------------------------------------- */

/* Do rows by this unit name the cgroup so, if root has created it? */
static bool has_key(enum scope unit, const char *path, const char *name)
{
	struct cgroup_name key;

	key_name_cgroup(unit, 0, path, strlen(path), &key);
	return key.kind == KEY_NAME && word_means(name, key.name);
}

/*
 * Is this the last part of its path?  Or is it the cgroup of the service, container or pod that
 * rows name so, and not one below it?
 */
static bool is_named(const char *path, const char *last, const char *name)
{
	static const enum scope units[] = {SCOPE_SERVICE, SCOPE_CONTAINER};
	bool is = word_means(name, last);
	char *above = xstrdup(path), *slash = strrchr(above, '/');

	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; !is && slash != NULL && i < sizeof(units) / sizeof(*units); i++)
		is = has_key(units[i], path, name) && !has_key(units[i], above, name);
	free(above);
	return is;
}

#define MAX_LISTED 4 /* paths in a message */

/* The path of root's only cgroup of a name; free it.  NULL after a message. */
static char *find_named(enum lwps_hierarchy hierarchy, const char *root, const char *name)
{
	const char *mount = mounts[hierarchy].root;
	FTS *tree = open_tree(root);
	char *path = NULL, *list = NULL, *of_user = NULL;
	FTSENT *entry;
	size_t n = 0;
	int error = 0;

	while ((entry = fts_read(tree)) != NULL) {
		const char *below = entry->fts_path + strlen(root);

		if (is_unread(entry))
			error = entry->fts_errno;
		if (entry->fts_info != FTS_D || !is_named(below, entry->fts_name, name))
			continue;
		if (is_of_user(hierarchy, below)) {
			if (of_user == NULL)
				of_user = xstrdup(below);
		} else if (n++ == 0) {
			path = xstrdup(entry->fts_path);
			list = xasprintf("'%s'", below);
		} else if (n <= MAX_LISTED + 1) {
			char *longer = n <= MAX_LISTED ? xasprintf("%s, '%s'", list, below)
						       : xasprintf("%s, ...", list);

			free(list);
			list = longer;
		}
	}
	if (errno != 0) /* fts_read() clears it at the end of the tree */
		error = errno;
	fts_close(tree);
	if (error != 0)
		say("--cgroup '%s': cannot read all cgroups below %s: %s; give the path of one",
		    name, mount, strerror(error));
	else if (n == 0 && of_user != NULL)
		say("--cgroup '%s': only a user has a cgroup of this name, '%s'; to choose it, "
		    "give its path",
		    name, of_user);
	else if (n == 0)
		say("--cgroup '%s': no cgroup below %s has this name", name, mount);
	else if (n > 1)
		say("--cgroup '%s': %zu cgroups below %s have this name; give the path of one: %s",
		    name, n, mount, list);
	free(of_user);
	free(list);
	if (error == 0 && n == 1)
		return path;
	free(path);
	return NULL;
}

/* The part of a path below the root; NULL: it is not there. */
static const char *part_below(const char *path, const char *root)
{
	const size_t n = strlen(root);

	return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

/* The file of a path in the hierarchy, with or without `mount` or its target `root`; free it. */
static char *find_path(const char *mount, const char *root, const char *text)
{
	const char *part = part_below(text, mount);
	char full[PATH_MAX];

	if (part == NULL)
		part = part_below(text, root);
	snprintf(full, sizeof(full), "%s/%s", root, part != NULL ? part : text);
	return realpath(full, NULL);
}

bool cgroups_find(const char *text, uint64_t *id, uint64_t *root_id, unsigned *depth)
{
	const enum lwps_hierarchy hierarchy = cgroups_hierarchy();
	const char *mount = mounts[hierarchy].root, *part;
	char *root = realpath(mount, NULL), *path;
	bool is_name = strchr(text, '/') == NULL, found;
	struct stat at, below;

	if (root == NULL) {
		say("--cgroup '%s': %s: %s", text, mount, strerror(errno));
		return false;
	}
	path = is_name ? find_named(hierarchy, root, text) : find_path(mount, root, text);
	part = path != NULL ? part_below(path, root) : NULL;
	found = part != NULL && stat(root, &at) == 0 && stat(path, &below) == 0 &&
		S_ISDIR(below.st_mode);
	if (!found && (path != NULL || !is_name)) /* else find_named() has reported it */
		say("--cgroup '%s': there is no such cgroup in %s", text, mount);
	if (found) {
		*id = below.st_ino; /* on machines of 64 bits, the id */
		*root_id = at.st_ino;
		*depth = 0;
		for (; *part != '\0'; part++)
			*depth += *part == '/';
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

/*
 * The path in a line of /proc/PID/cgroup: "7:cpu,cpuacct:/path", or of version 2 "0::/path".  NULL:
 * the line is of another hierarchy.
 */
static char *find_path_in(char *line, const char *controller)
{
	char *path = line, *id = strsep(&path, ":"), *list = strsep(&path, ":");
	bool found = controller == NULL && strcmp(id, "0") == 0;
	const char *name;

	while (controller != NULL && !found && (name = strsep(&list, ",")) != NULL)
		found = strcmp(name, controller) == 0;
	return found ? path : NULL;
}

bool cgroups_of(enum lwps_hierarchy hierarchy, pid_t pid, char *path, size_t size)
{
	const char *controller = cgroups_controller(hierarchy);
	const char *begin = "";
	char name[32], line[4096];
	char *end = NULL, *deleted;
	size_t n;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	f = fopen(name, "re");
	while (end == NULL && f != NULL && fgets(line, sizeof(line), f) != NULL)
		end = find_path_in(line, controller);
	if (f != NULL)
		fclose(f);
	if (end == NULL)
		return false;
	end[strcspn(end, "\n")] = '\0';
	deleted = strstr(end, " (deleted)"); /* of a zombie */
	if (deleted != NULL && deleted[strlen(" (deleted)")] == '\0')
		*deleted = '\0';
	/* The kernel writes "/.." for unknown names, outside of our cgroup namespace. */
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
