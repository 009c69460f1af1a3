/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.c - which processes -p means.
 */
#include "pids.h"

#include "../common/say.h"
#include "../common/util.h"
#include "comm.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has(const struct pids *pids, size_t first, size_t end, pid_t pid)
{
	for (size_t i = first; i < end; i++) {
		if (pids->id[i] == pid)
			return true;
	}
	return false;
}

static void add(struct pids *pids, pid_t pid)
{
	if (has(pids, 0, pids->n, pid))
		return;
	pids->id = xrealloc(pids->id, (pids->n + 1) * sizeof(*pids->id));
	pids->id[pids->n++] = pid;
}

/* What /proc/PID/stat tells; false: the process is gone. */
static bool read_stat(pid_t pid, char comm[COMM_SIZE], pid_t *parent)
{
	char path[32], text[512], *open, *close;
	size_t n;
	FILE *f;
	int ppid = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')'); /* the name may have others */
	if (open == NULL || close == NULL || sscanf(close + 1, " %*c %d", &ppid) != 1)
		return false;
	*close = '\0';
	strlcpy(comm, open + 1, COMM_SIZE);
	*parent = (pid_t)ppid;
	return true;
}

static pid_t tracer(pid_t pid)
{
	char path[32], line[128];
	int id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "TracerPid: %d", &id) == 1)
			break;
	}
	if (f != NULL)
		fclose(f);
	return (pid_t)id;
}

/* Adds all processes of a name, or, with `name` NULL, all children of some. */
static void add_all(struct pids *pids, const char *name, size_t first, size_t end)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;

	if (dir == NULL)
		die("cannot read /proc: %s", strerror(errno));
	while ((de = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtonum(de->d_name, 1, INT_MAX, NULL), ppid;
		char comm[COMM_SIZE];

		if (pid == 0 || pid == getpid() || !read_stat(pid, comm, &ppid))
			continue;
		if (name != NULL ? strcmp(comm, name) == 0
				 : has(pids, first, end, ppid) && tracer(pid) != getpid())
			add(pids, pid);
	}
	closedir(dir);
}

/* Which processes have the name; of very many, how many more. */
static void tell_named(const char *name, const struct pids *named)
{
	char text[512] = "", more[48] = "", id[16];
	size_t told = 0;

	while (told < named->n) {
		snprintf(id, sizeof(id), "%s%d", told > 0 ? ", " : "", (int)named->id[told]);
		if (strlen(text) + strlen(id) >= sizeof(text))
			break;
		strlcat(text, id, sizeof(text));
		told++;
	}
	if (told < named->n)
		snprintf(more, sizeof(more), " and %zu more", named->n - told);
	say("-p '%s': %s %s%s", name, named->n == 1 ? "process" : "processes", text, more);
}

/* Names are cut by the kernel. */
static bool add_named(struct pids *pids, const char *name)
{
	char comm[COMM_SIZE];
	struct pids named = {0};

	strlcpy(comm, name, sizeof(comm));
	add_all(&named, comm, 0, 0);
	for (size_t i = 0; i < named.n; i++)
		add(pids, named.id[i]);
	if (named.n == 0)
		say("-p '%s': no process has this name", name);
	else
		tell_named(name, &named);
	free(named.id);
	return named.n > 0;
}

bool pids_parse(struct pids *pids, const char *text)
{
	char *list = xstrdup(text), *rest = list, *word;
	bool good = true;

	while (good && (word = strsep(&rest, ",")) != NULL) {
		bool number = word[strspn(word, "0123456789")] == '\0' || *word == '-';
		const char *bad;
		pid_t pid = (pid_t)strtonum(word, 1, INT_MAX, &bad);

		if (number && bad != NULL)
			say("-p '%s': process ids, from 1 to %d, or names are wanted", text,
			    INT_MAX);
		else if (number)
			add(pids, pid);
		good = number ? bad == NULL : add_named(pids, word);
	}
	free(list);
	return good;
}

void pids_add_children(struct pids *pids, size_t first, size_t end)
{
	add_all(pids, NULL, first, end);
}
