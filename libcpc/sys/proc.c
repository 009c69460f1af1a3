/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* proc.c - small files of /proc and /sys. */
#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the beginning of a file with one read(2), appends a NUL byte and closes the file. */
static bool read_fd(int fd, char *text, size_t size)
{
	ssize_t n;

	if (fd == -1)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

long cpci_read_number_at(int dir, const char *path, long none)
{
	char text[32], *end;
	long val;

	if (!read_fd(openat(dir, path, O_RDONLY | O_CLOEXEC), text, sizeof(text)))
		return none;
	val = strtol(text, &end, 10);
	return end != text ? val : none;
}

long cpci_read_number(const char *path, long none)
{
	return cpci_read_number_at(AT_FDCWD, path, none);
}

/* Avoids snprintf(3), which is not safe in signal handlers. */
int cpci_open_proc(pid_t pid, const char *name)
{
	char path[64] = "/proc/self/", digits[16], *p = digits + sizeof(digits) - 1;

	if (pid != 0) {
		for (*p = '\0'; pid > 0; pid /= 10)
			*--p = (char)('0' + pid % 10);
		strcpy(path, "/proc/");
		strcat(path, p);
		strcat(path, "/");
	}
	strcat(path, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool cpci_read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	return read_fd(cpci_open_proc(pid, name), text, size);
}

bool cpci_own_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

#define PF_EXITING 0x4 /* from the kernel's linux/sched.h */

bool cpci_lwp_ended(pid_t tid)
{
	char stat[512], state = '\0';
	unsigned flags = 0;
	const char *p;

	if (!cpci_own_proc())
		return kill(tid, 0) == -1 && errno == ESRCH;
	errno = 0;
	if (!cpci_read_proc(tid, "stat", stat, sizeof(stat)))
		return errno == ENOENT || errno == ESRCH;
	p = strrchr(stat, ')'); /* the last one: the name may contain some, too */
	if (p == NULL || sscanf(p + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return false;
	return state == 'Z' || state == 'X' || (flags & PF_EXITING) != 0;
}

bool cpci_orphans_are_reaped(void)
{
	/* If SIGCHLD is blocked, process 1 uses sigwait(3) or signalfd(2). */
	static const char *const masks[] = {"\nSigBlk:", "\nSigIgn:", "\nSigCgt:"};
	unsigned long long all = 0;
	char text[4096];
	const char *line;

	if (getpid() == 1) /* its children end with it */
		return false;
	if (!cpci_own_proc() || !cpci_read_proc(1, "status", text, sizeof(text)))
		return true;
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		line = strstr(text, masks[i]);
		if (line == NULL)
			return true;
		all |= strtoull(line + strlen(masks[i]), NULL, 16);
	}
	return (all >> (SIGCHLD - 1) & 1) != 0;
}

#define LOOK_FILES 200000 /* the limit of open files that are read, which takes 0.2 s */

static bool has_open(const char *pid, const char *file, unsigned *nfiles)
{
	char path[300], link[64];
	size_t size = strlen(file);
	struct dirent *de;
	bool has = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (!has && dir != NULL && (de = readdir(dir)) != NULL && ++*nfiles < LOOK_FILES)
		has = readlinkat(dirfd(dir), de->d_name, link, sizeof(link)) == (ssize_t)size &&
		      memcmp(link, file, size) == 0;
	if (dir != NULL)
		closedir(dir);
	return has;
}

unsigned cpci_count_openers(const char *file, unsigned most, pid_t *last)
{
	unsigned n = 0, nfiles = 0;
	DIR *dir = opendir("/proc");
	struct dirent *de;

	while (n < most && dir != NULL && (de = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(de->d_name, NULL, 10);

		if (pid <= 0 || pid == getpid() || !has_open(de->d_name, file, &nfiles))
			continue;
		n++;
		if (last != NULL)
			*last = pid;
	}
	if (dir != NULL)
		closedir(dir);
	return n;
}

void cpci_process_name(pid_t pid, char *text, size_t size)
{
	char name[32];

	if (pid == getpid()) {
		snprintf(text, size, "this process");
		return;
	}
	if (pid == 0 || !cpci_read_proc(pid, "comm", name, sizeof(name))) {
		snprintf(text, size, "a process that cannot be seen from here");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	for (char *p = name; *p != '\0'; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
	snprintf(text, size, "process %d (%s)", (int)pid, name);
}
