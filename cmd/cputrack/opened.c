/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* opened.c - the files with counted functions that no process opened during the run. */
#include "opened.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../rows/row.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

/* A group of fanotify(7) for each file: so an event need not name its file. */
struct opened_file {
	char *path;
	int group;
	bool counted; /* calls of one of its functions */
};

struct walk {
	struct opened *opened;
	const struct pids *pids;
	uint64_t counted; /* bit i: event i of the set */
};

/* Opens a group that watches a file.  -1: that is not possible here. */
static int watch(const char *path)
{
	const unsigned flags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK;
	/* Some file systems have no ids of files; then events have descriptors. */
	const unsigned kind[] = {FAN_REPORT_FID, 0};

	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		const int group = fanotify_init(flags | kind[i], O_RDONLY | O_CLOEXEC);

		if (group == -1)
			continue;
		if (fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path) == 0)
			return group;
		close(group);
	}
	return -1;
}

/* Has the process mapped the file?  Its inode is compared alone: some file systems show another
 * device. */
static bool has_mapped(pid_t pid, const struct stat *st)
{
	char name[32], *line = NULL;
	unsigned long long ino;
	bool found = false;
	size_t size = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (maps == NULL)
		return true; /* unknown */
	while (!found && getline(&line, &size, maps) != -1)
		found = sscanf(line, "%*s %*s %*s %*s %llu", &ino) == 1 && ino == st->st_ino;
	free(line);
	fclose(maps);
	return found;
}

static void add_file(void *arg, int req, const char *symbol, uint64_t address)
{
	const struct walk *walk = arg;
	struct opened *opened = walk->opened;
	struct opened_file file = {0};
	bool known = false;
	struct stat st;

	(void)req, (void)address;
	if (!symbol_has_path(symbol) || (file.path = symbol_file(symbol, &st)) == NULL)
		return;
	for (size_t i = 0; i < opened->n; i++)
		known |= strcmp(opened->file[i].path, file.path) == 0;
	for (size_t i = 0; walk->pids != NULL && i < walk->pids->n; i++)
		known |= has_mapped(walk->pids->target[i].pid, &st);
	file.group = known ? -1 : watch(file.path);
	if (file.group == -1) {
		free(file.path);
		return;
	}
	opened->file = xrealloc(opened->file, (opened->n + 1) * sizeof(*opened->file));
	opened->file[opened->n++] = file;
}

void opened_watch(struct opened *opened, cpc_t *cpc, const struct setgrp *grp,
		  const struct pids *pids)
{
	struct walk walk = {.opened = opened, .pids = pids};

	for (size_t i = 0; i < grp->n; i++)
		cpc_walk_symbols(cpc, grp->set[i].set, &walk, add_file);
}

/* Is one of the events of another process?  An overflow of their queue counts as one. */
static bool was_opened(int group)
{
	char buffer[4096];
	struct fanotify_event_metadata event;
	const pid_t self = getpid();
	bool found = false;
	ssize_t n;

	while (!found && (n = read(group, buffer, sizeof(buffer))) > 0) {
		/* The length of an event is not a multiple of its alignment. */
		for (ssize_t at = 0; at < n; at += event.event_len) {
			memcpy(&event, buffer + at, sizeof(event));
			found |= event.pid != self;
			if (event.fd >= 0)
				close(event.fd);
		}
	}
	return found;
}

static void note_counted(void *arg, int req, const char *symbol, uint64_t address)
{
	const struct walk *walk = arg;

	(void)address;
	if (req >= RUN_MAX_EVENTS || (walk->counted >> req & 1) == 0)
		return;
	for (size_t i = 0; i < walk->opened->n; i++) {
		struct opened_file *file = &walk->opened->file[i];
		const size_t n = strlen(file->path);

		file->counted |= strncmp(symbol, file->path, n) == 0 && symbol[n] == ':';
	}
}

void opened_report(struct opened *opened, cpc_t *cpc, const struct setgrp *grp)
{
	struct walk walk = {.opened = opened};

	for (size_t i = 0; i < grp->n; i++) {
		walk.counted = grp->set[i].counted;
		cpc_walk_symbols(cpc, grp->set[i].set, &walk, note_counted);
	}
	for (size_t i = 0; i < opened->n; i++) {
		if (!opened->file[i].counted && !was_opened(opened->file[i].group))
			say("no process opened '%s': its functions were not called",
			    opened->file[i].path);
	}
}

void opened_free(struct opened *opened)
{
	for (size_t i = 0; i < opened->n; i++) {
		close(opened->file[i].group);
		free(opened->file[i].path);
	}
	free(opened->file);
}
