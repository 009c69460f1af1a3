/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.c - the processes that -p names.
 */
#include "pids.h"

#include "../base/say.h"
#include "../base/util.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_PATTERN 256 /* bytes of a pattern */

static bool has(const struct pids *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->n; i++) {
		if (pids->id[i] == pid)
			return true;
	}
	return false;
}

static void add(struct pids *pids, pid_t pid)
{
	if (has(pids, pid))
		return;
	pids->id = xrealloc(pids->id, (pids->n + 1) * sizeof(*pids->id));
	pids->id[pids->n++] = pid;
}

#define PF_EXITING 4u /* of the kernel */

/* Fields of /proc/PID/stat after the name: 3 to 22. */
#define STAT_FORMAT                                                          \
	" %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d " \
	"%*d %*d %llu"

bool pid_read_stat(pid_t pid, struct pid_stat *stat)
{
	char path[32], text[512], *open, *close;
	size_t n;
	unsigned flags;
	FILE *f;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')'); /* the name may have others */
	if (open == NULL || close == NULL ||
	    sscanf(close + 1, STAT_FORMAT, &stat->state, &parent, &flags, &stat->start) != 4)
		return false;
	*close = '\0';
	strlcpy(stat->comm, open + 1, COMM_SIZE);
	stat->parent = (pid_t)parent;
	stat->exiting = (flags & PF_EXITING) != 0;
	return true;
}

void pids_each(bool (*visit)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	bool go_on = true;

	if (dir == NULL)
		die("cannot read /proc: %s", strerror(errno));
	while (go_on && (de = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtonum(de->d_name, 1, INT_MAX, NULL);

		if (pid != 0 && pid != getpid())
			go_on = visit(arg, pid);
	}
	closedir(dir);
}

/* All processes whose name is this, or matches it as a pattern of glob(7). */
struct named {
	struct pids pids;
	char pattern[COMM_PATTERN];
};

static bool add_if_named(void *arg, pid_t pid)
{
	struct named *named = arg;
	struct pid_stat stat;

	if (pid_read_stat(pid, &stat) &&
	    (strcmp(stat.comm, named->pattern) == 0 || fnmatch(named->pattern, stat.comm, 0) == 0))
		add(&named->pids, pid);
	return true;
}

/* Prints the processes with the name; if there are very many, the number of the rest. */
static void print_named(const char *name, const struct pids *named)
{
	char text[512] = "", more[48] = "", id[16];
	size_t printed = 0;

	while (printed < named->n) {
		snprintf(id, sizeof(id), "%s%d", printed > 0 ? ", " : "", (int)named->id[printed]);
		if (strlen(text) + strlen(id) >= sizeof(text))
			break;
		strlcat(text, id, sizeof(text));
		printed++;
	}
	if (printed < named->n)
		snprintf(more, sizeof(more), " and %zu more", named->n - printed);
	say("-p '%s': %s %s%s", name, named->n == 1 ? "process" : "processes", text, more);
}

/* The kernel cuts names; it cannot be known where a pattern would have to be cut. */
static bool add_named(struct pids *pids, const char *name)
{
	const bool is_pattern = strpbrk(name, "*?[\\") != NULL;
	struct named named = {0};

	strlcpy(named.pattern, name, is_pattern ? sizeof(named.pattern) : COMM_SIZE);
	pids_each(add_if_named, &named);
	for (size_t i = 0; i < named.pids.n; i++)
		add(pids, named.pids.id[i]);
	if (named.pids.n == 0)
		say("-p '%s': no process has %s", name,
		    is_pattern ? "a name like this" : "this name");
	else
		print_named(name, &named.pids);
	free(named.pids.id);
	return named.pids.n > 0;
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
			say("-p '%s': expected process ids, from 1 to %d, or names", text, INT_MAX);
		else if (number)
			add(pids, pid);
		good = number ? bad == NULL : add_named(pids, word);
	}
	free(list);
	return good;
}
