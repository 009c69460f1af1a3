/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probed.c - the files that events name by their paths, to count calls of their functions.
 */
#include "probed.h"

#include "../../../libcpc/set/counter.h"
#include "../../base/say.h"
#include "../../base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- which files ------------------------------------------------------------------------- */

/* Adds the file of `symbol`. */
static void add_file(void *arg, int req, const char *symbol, uint64_t address)
{
	struct probed *probed = arg;
	struct probed_file *file;

	(void)req, (void)address;
	if (!symbol_has_path(symbol))
		return;
	probed->file = xrealloc(probed->file, (probed->n + 1) * sizeof(*probed->file));
	file = &probed->file[probed->n];
	*file = (struct probed_file){.watch = -1};
	file->path = symbol_file(symbol, &file->st);
	file->real = file->path != NULL ? realpath(file->path, NULL) : NULL;
	if (file->real != NULL)
		probed->n++;
	else
		free(file->path); /* no such file: an error when the set is bound */
}

/* Watches for new files that get the name of `path`.  -1 and errno. */
static int watch_folder(struct probed *probed, struct probed_file *file, unsigned i,
			const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = xasprintf("%.*s/", (int)(slash - path), path);

	file->name[i] = xstrdup(slash + 1);
	file->folder[i] =
		inotify_add_watch(probed->inotify, folder, IN_CREATE | IN_MOVED_TO | IN_MASK_ADD);
	free(folder);
	return file->folder[i];
}

static int watch(struct probed *probed, struct probed_file *file)
{
	file->watch = inotify_add_watch(probed->inotify, file->real, IN_MODIFY | IN_MASK_ADD);
	return file->watch == -1 || watch_folder(probed, file, 0, file->path) == -1 ||
			       watch_folder(probed, file, 1, file->real) == -1
		       ? -1
		       : 0;
}

bool probed_find(struct probed *probed, cpc_t *cpc, const struct setgrp *grp, char *why,
		 size_t size)
{
	for (size_t i = 0; i < grp->n; i++)
		cpc_walk_symbols(cpc, grp->set[i].set, probed, add_file);
	if (probed->n == 0)
		return true;
	probed->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (size_t i = 0; i < probed->n; i++) {
		struct probed_file *file = &probed->file[i];

		if (probed->inotify != -1 && watch(probed, file) == 0)
			continue;
		snprintf(why, size, "'%s' cannot be watched for changes: %s", file->path,
			 strerror(errno));
		return false;
	}
	return true;
}

void probed_free(struct probed *probed)
{
	for (size_t i = 0; i < probed->n; i++) {
		struct probed_file *file = &probed->file[i];

		for (unsigned k = 0; k < PROBED_FOLDERS; k++)
			free(file->name[k]);
		free(file->path);
		free(file->real);
	}
	free(probed->file);
	if (probed->inotify != -1)
		close(probed->inotify);
}

/* ---- files of other processes ------------------------------------------------------------ */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Does the process map the file that had this path before it was removed or replaced? */
static bool maps_older(pid_t pid, const char *real)
{
	static const char deleted[] = " (deleted)\n";
	const size_t length = strlen(real);
	char name[32], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	while (!found && maps != NULL && getline(&line, &size, maps) != -1) {
		const char *mapped = strchr(line, '/');

		found = mapped != NULL && strncmp(mapped, real, length) == 0 &&
			strcmp(mapped + length, deleted) == 0;
	}
	free(line);
	if (maps != NULL)
		fclose(maps);
	return found;
}

enum view { SAME, OTHER, ENDED };

/* Has the process the same file at that path?  Symbolic links are resolved in its own root. */
static enum view view_of(pid_t pid, const struct probed_file *file)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	enum view view = OTHER;
	struct stat st;
	char name[32];
	int root, fd;

	snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_CLOEXEC);
	if (root == -1)
		return errno == ENOENT || errno == ESRCH ? ENDED : OTHER;
	fd = (int)syscall(SYS_openat2, root, file->path, &how, sizeof(how));
	if (fd == -1 ? errno == ENOENT || errno == ENOTDIR /* no file: nothing to count */
		     : fstat(fd, &st) == 0 && same_file(&st, &file->st))
		view = SAME;
	if (fd != -1)
		close(fd);
	close(root);
	return view;
}

const char *probed_differs(const struct probed *probed, pid_t pid)
{
	for (size_t i = 0; i < probed->n; i++) {
		const struct probed_file *file = &probed->file[i];

		if (view_of(pid, file) == OTHER || maps_older(pid, file->real))
			return file->path;
	}
	return NULL;
}

/* ---- changes ----------------------------------------------------------------------------- */

/* Does the event report that the file was changed or replaced, or that events were dropped? */
static bool is_change_of(const struct probed_file *file, const struct inotify_event *event)
{
	if ((event->mask & IN_Q_OVERFLOW) != 0 || event->wd == file->watch)
		return (event->mask & (IN_Q_OVERFLOW | IN_MODIFY)) != 0;
	for (unsigned i = 0; event->len > 0 && i < PROBED_FOLDERS; i++) {
		if (event->wd == file->folder[i] && strcmp(event->name, file->name[i]) == 0)
			return true;
	}
	return false;
}

/* Reads the pending events of inotify(7), and marks the changed files. */
static void read_changes(struct probed *probed)
{
	_Alignas(struct inotify_event) char buffer[4096];
	ssize_t n;

	while (probed->inotify != -1 && (n = read(probed->inotify, buffer, sizeof(buffer))) > 0) {
		const struct inotify_event *event;

		for (const char *at = buffer; at < buffer + n; at += sizeof(*event) + event->len) {
			event = (const struct inotify_event *)at;
			for (size_t i = 0; i < probed->n; i++)
				probed->file[i].changed |= is_change_of(&probed->file[i], event);
		}
	}
}

/* After its end: did the process see the same files as we, or is it the program in the file? */
static bool was_same(const struct lwps_record *record, const struct probed_file *file)
{
	return !record->elsewhere ||
	       (record->exe_dev == file->st.st_dev && record->exe_ino == file->st.st_ino);
}

bool probed_check(struct probed *probed, const struct lwps_record *record)
{
	const pid_t pid = record->tgid;
	bool same = true;

	read_changes(probed); /* before the queue of inotify(7) overflows */
	for (size_t i = 0; i < probed->n; i++) {
		struct probed_file *file = &probed->file[i];
		enum view view = view_of(pid, file);

		if (view == ENDED ? was_same(record, file)
				  : view == SAME && !maps_older(pid, file->real))
			continue;
		same = false;
		if (!file->other)
			say(view == ENDED ? "process %d had a root directory or mount namespace of "
					    "its own, and ended before its '%s' was compared: "
					    "calls of another file are not counted"
					  : "process %d has another file as '%s', whose calls are "
					    "not counted",
			    (int)pid, file->path);
		file->other = true;
	}
	return same;
}

bool probed_is_set(cpc_t *cpc, const cpc_set_t *set, pid_t pid)
{
	const char *why, *path = cpc_set_unprobed(cpc, set, pid, &why);

	if (path != NULL)
		say("process %d has mapped the code of '%s' %s, where the kernel sets no probes: "
		    "calls are not counted",
		    (int)pid, path, why);
	return path == NULL;
}

/* Has overlayfs copied the file?  A write or chmod(2) does so; processes then map the copy. */
static bool is_copied(const struct probed_file *file, const struct stat *now)
{
	struct statfs fs;

	return (now->st_ctim.tv_sec != file->st.st_ctim.tv_sec ||
		now->st_ctim.tv_nsec != file->st.st_ctim.tv_nsec) &&
	       statfs(file->real, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool probed_find_changed(struct probed *probed)
{
	bool any = false;
	struct stat st;

	read_changes(probed);
	for (size_t i = 0; i < probed->n; i++) {
		struct probed_file *file = &probed->file[i];

		if (stat(file->path, &st) == 0)
			file->changed |= !same_file(&st, &file->st) || is_copied(file, &st);
		any |= file->changed;
	}
	return any;
}

void probed_report_changed(const struct probed *probed)
{
	for (size_t i = 0; i < probed->n; i++) {
		const struct probed_file *file = &probed->file[i];

		if (file->changed && !file->other)
			say("'%s' was changed or replaced meanwhile: counts of its functions may "
			    "lack calls since then (--engine=ptrace looks it up in each process)",
			    file->path);
	}
}
