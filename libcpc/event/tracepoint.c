/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracepoint.c - tracepoints of the kernel, "system:event", by tracefs.
 */
#include "event.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static bool is_word(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != '-')
			return false;
	}
	return n > 0;
}

/* A code of the CPU with a modifier, as in "0x8:k", is no tracepoint; "9p" is a system. */
static bool is_code(const char *name)
{
	return isdigit((unsigned char)*name) &&
	       name[strspn(name, "0123456789xXabcdefABCDEF")] == ':';
}

/* The id in `path`, or -1 and errno. */
static long long read_id(const char *path)
{
	long long id = -1;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return -1;
	errno = EIO;
	if (fscanf(f, "%lld", &id) != 1)
		id = -1;
	fclose(f);
	return id;
}

static bool exists(const char *mount, const char *name)
{
	const char *colon = strchr(name, ':');
	char path[512];

	snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", mount, (int)(colon - name), name,
		 colon + 1);
	return access(path, F_OK) == 0;
}

/* Which tracepoint of that system was meant?  -1: one that `diag` names; 0: who knows. */
static int try_others(const char *mount, const char *name, struct cpci_diag *diag)
{
	const char *colon = strchr(name, ':');
	struct cpci_suggest suggest;
	struct dirent *de;
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/events/%.*s", mount, (int)(colon - name), name);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	cpci_suggest_start(&suggest, colon + 1);
	while ((de = readdir(dir)) != NULL) {
		if (is_word(de->d_name, strlen(de->d_name)))
			cpci_suggest_try(&suggest, de->d_name);
	}
	closedir(dir);
	if (suggest.best[0] == '\0')
		return 0;
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "unknown event '%s' (did you mean '%.*s:%s'?)",
		  name, (int)(colon - name), name, suggest.best);
	return -1;
}

bool cpci_tracepoint_meant(const char *word, char *name, size_t size)
{
	bool found = false;
	struct dirent *de;
	char path[512];
	DIR *dir;

	for (size_t i = 0; is_word(word, strlen(word)) && i < sizeof(mounts) / sizeof(*mounts);
	     i++) {
		snprintf(path, sizeof(path), "%s/events", mounts[i]);
		dir = opendir(path);
		while (dir != NULL && !found && (de = readdir(dir)) != NULL) {
			bool calls = strcmp(de->d_name, "syscalls") == 0;

			for (int entry = 0; entry <= calls && !found; entry++) {
				snprintf(name, size, "%s:%s%s", de->d_name,
					 entry ? "sys_enter_" : "", word);
				found = exists(mounts[i], name);
			}
		}
		if (dir != NULL)
			closedir(dir);
		if (found)
			return true;
	}
	return false;
}

int cpci_event_tracepoint(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag)
{
	const char *colon = strchr(name, ':');
	bool mounted = false;
	char path[512];
	long long id;

	if (colon == NULL || !is_word(name, (size_t)(colon - name)) ||
	    !is_word(colon + 1, strlen(colon + 1)) || is_code(name))
		return 0;
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/events/%.*s/%s/id", mounts[i],
				     (int)(colon - name), name, colon + 1) >= sizeof(path))
			return 0;
		id = read_id(path);
		if (id >= 0) {
			cpci_event_single(event,
					  &(struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT,
								    .config = (uint64_t)id},
					  flags);
			return 1;
		}
		if (errno == EACCES || errno == EPERM) {
			cpci_diag(diag, EACCES, CPC_RESOURCE_UNAVAIL,
				  "cannot look up tracepoint '%s': %s may be read by root only; "
				  "root can open it with: mount -o remount,mode=755 %s",
				  name, mounts[i], mounts[i]);
			return -1;
		}
		if (try_others(mounts[i], name, diag) == -1)
			return -1;
		snprintf(path, sizeof(path), "%s/events", mounts[i]);
		mounted |= access(path, F_OK) == 0;
	}
	if (mounted)
		return 0;
	cpci_diag(diag, ENOENT, CPC_RESOURCE_UNAVAIL,
		  "cannot look up tracepoint '%s': tracefs is not mounted; root can mount it with: "
		  "mount -t tracefs tracefs %s",
		  name, mounts[0]);
	return -1;
}
