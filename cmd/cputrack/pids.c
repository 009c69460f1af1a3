/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.c - the processes of -p, and the state of processes in /proc.
 */
#include "pids.h"

#include "../base/say.h"
#include "../base/util.h"

#include <bsd/stdlib.h>
#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- /proc ------------------------------------------------------------------------------- */

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

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')'); /* the name can contain some, too */
	if (open == NULL || close == NULL ||
	    sscanf(close + 1, STAT_FORMAT, &stat->state, &stat->parent, &flags, &stat->start) != 4)
		return false;
	*close = '\0';
	strlcpy(stat->comm, open + 1, COMM_SIZE);
	stat->exiting = (flags & PF_EXITING) != 0;
	return true;
}

void pid_read_comm(pid_t tid, char comm[COMM_SIZE])
{
	char path[32], text[COMM_SIZE];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	n = read(fd, text, sizeof(text)); /* the name and a newline */
	close(fd);
	if (n < 1)
		return;
	text[n - 1] = '\0';
	memcpy(comm, text, (size_t)n);
}

bool pid_read_status(pid_t pid, const char *key, char *value, size_t size)
{
	char path[32], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (!found && f != NULL && fgets(line, sizeof(line), f) != NULL)
		found = strncmp(line, key, strlen(key)) == 0;
	if (f != NULL)
		fclose(f);
	if (found)
		strlcpy(value, line + strlen(key), size);
	return found;
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

/* ---- names ------------------------------------------------------------------------------- */

static void add_pid(struct pids *pids, pid_t pid, bool by_name)
{
	for (size_t i = 0; i < pids->n; i++) {
		if (pids->target[i].pid == pid) {
			pids->target[i].by_name &= by_name;
			return;
		}
	}
	pids->target = xrealloc(pids->target, (pids->n + 1) * sizeof(*pids->target));
	pids->target[pids->n++] = (struct target){.pid = pid, .by_name = by_name};
}

/* The processes whose name is this, or matches it as a pattern of glob(7). */
struct named {
	struct pids *pids;
	const char *pattern;
	bool is_pattern;
	size_t n, nprinted;
	char printed[512]; /* the first of their ids */
};

/* The base name of `path`, if the kernel has cut it to `comm`; or NULL. */
static const char *whole_name(const char *path, const char *comm)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

	return strncmp(name, comm, COMM_SIZE - 1) == 0 ? name : NULL;
}

/*
 * Reads the name of a process that the kernel has cut to `comm`: from the path of its program, or,
 * if that interprets a script, from its first arguments.  False: they have other names.
 */
static bool read_whole_name(pid_t pid, const char *comm, char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[32], text[PATH_MAX];
	const char *found = NULL;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (n > (ssize_t)strlen(deleted) && strcmp(text + n - strlen(deleted), deleted) == 0)
		text[n - (ssize_t)strlen(deleted)] = '\0';
	found = whole_name(text, comm);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = found == NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd != -1) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		for (const char *arg = text; found == NULL && arg < text + n;
		     arg += strlen(arg) + 1)
			found = whole_name(arg, comm);
	}
	return found != NULL && strlcpy(name, found, size) < size;
}

static bool is_named(const struct named *named, pid_t pid, const char *comm)
{
	char whole[NAME_MAX + 1];

	if (word_means(named->pattern, comm) ||
	    (named->is_pattern && fnmatch(named->pattern, comm, 0) == 0))
		return true;
	if (strlen(comm) < COMM_SIZE - 1 ||
	    (!named->is_pattern && strncmp(named->pattern, comm, COMM_SIZE - 1) != 0))
		return false;
	if (!read_whole_name(pid, comm, whole, sizeof(whole)))
		return !named->is_pattern;
	return named->is_pattern ? fnmatch(named->pattern, whole, 0) == 0
				 : strcmp(named->pattern, whole) == 0;
}

static bool add_if_named(void *arg, pid_t pid)
{
	struct named *named = arg;
	struct pid_stat stat;
	char id[16];

	if (!pid_read_stat(pid, &stat) || !is_named(named, pid, stat.comm))
		return true;
	add_pid(named->pids, pid, true);
	snprintf(id, sizeof(id), "%s%d", named->n++ > 0 ? ", " : "", (int)pid);
	if (strlen(named->printed) + strlen(id) < sizeof(named->printed)) {
		strlcat(named->printed, id, sizeof(named->printed));
		named->nprinted++;
	}
	return true;
}

static bool add_named(struct pids *pids, const char *name)
{
	const bool is_pattern = strpbrk(name, "*?[\\") != NULL;
	struct named named = {.pids = pids, .pattern = name, .is_pattern = is_pattern};
	char more[48] = "";

	pids_each(add_if_named, &named);
	if (named.nprinted < named.n)
		snprintf(more, sizeof(more), " and %zu more", named.n - named.nprinted);
	if (named.n == 0)
		say("-p '%s': no process has %s", name,
		    is_pattern ? "a name like this" : "this name");
	else
		say("-p '%s': %s %s%s", name, named.n == 1 ? "process" : "processes", named.printed,
		    more);
	return named.n > 0;
}

bool pids_parse(struct pids *pids, const char *text)
{
	/* pgrep(1) writes a line for each process. */
	const bool lines = text[strspn(text, "0123456789 \n")] == '\0';
	char *list = xstrdup(text), *rest = list, *word;
	bool good = true;

	while (good && (word = strsep(&rest, lines ? " \n" : ",")) != NULL) {
		bool number = word[strspn(word, "0123456789")] == '\0' || *word == '-';
		const char *bad;
		pid_t pid = (pid_t)strtonum(word, 1, INT_MAX, &bad);

		if (number && bad != NULL)
			say("-p '%s': expected process ids, from 1 to %d, or names", text, INT_MAX);
		else if (number)
			add_pid(pids, pid, false);
		good = number ? bad == NULL : add_named(pids, word);
	}
	free(list);
	return good;
}
