/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* outpath.c - finds and opens the file that a path names, to write it. */
#include "outpath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as the kernel */
#define MAX_RACES 100

#define PLACE (O_PATH | O_CLOEXEC)

static int fail(struct cpc_outpath *at, int error)
{
	snprintf(at->why, sizeof(at->why), "%s", strerror(error));
	errno = error;
	return -1;
}

static int refuse(void)
{
	errno = EACCES;
	return -1;
}

/* Root of a user namespace has no power over the files of other users. */
static bool is_root(void)
{
	unsigned long first = 0, outside = 0, n = UINT32_MAX;
	FILE *f;

	if (geteuid() != 0)
		return false;
	f = fopen("/proc/self/uid_map", "re");
	if (f == NULL)
		return true;
	if (fscanf(f, "%lu %lu %lu", &first, &outside, &n) != 3)
		n = UINT32_MAX;
	fclose(f);
	return first == 0 && outside == 0 && n == UINT32_MAX;
}

static bool is_ours(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

/* Goes on from the directory `fd`. */
static int enter(struct cpc_outpath *at, int fd)
{
	struct stat st;

	if (fd == -1)
		return fail(at, errno);
	cpc_outpath_close(at);
	at->dir = fd;
	if (fstat(fd, &st) == -1)
		return fail(at, errno);
	at->owner = st.st_uid;
	at->shared = (st.st_mode & S_IWOTH) != 0 ||
		     ((st.st_mode & S_IWGRP) != 0 && (st.st_mode & S_ISVTX) != 0);
	if (at->is_root)
		at->shared |= st.st_uid != 0 || ((st.st_mode & S_IWGRP) != 0 && st.st_gid != 0);
	return 0;
}

static bool is_in_proc(const struct cpc_outpath *at)
{
	struct statfs fs;

	return fstatfs(at->dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Puts the target of the link `fd` before the rest of the path. */
static int expand(struct cpc_outpath *at, int fd, char **rest)
{
	char target[PATH_MAX], *longer;
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

	if (n == -1)
		return fail(at, errno);
	target[n] = '\0';
	if (asprintf(&longer, "%s/%s", target, *rest) == -1)
		return fail(at, ENOMEM);
	if (**rest == '\0')
		longer[n] = '\0';
	free(*rest);
	*rest = longer;
	return *target == '/' ? enter(at, open("/", PLACE | O_DIRECTORY)) : 0;
}

/* A link of ours elsewhere can have a second name here. */
static int check_link(struct cpc_outpath *at, const struct stat *st)
{
	if (!at->shared || (is_ours(st->st_uid) && st->st_nlink < 2))
		return 0;
	snprintf(at->why, sizeof(at->why), "the link '%.60s' of user %u%s is not followed; %s",
		 at->name, (unsigned)st->st_uid, st->st_nlink < 2 ? "" : ", which has two names,",
		 "name its target");
	return refuse();
}

/* Goes on at a link.  Returns 1 if only the kernel can follow it. */
static int follow(struct cpc_outpath *at, int fd, const struct stat *st, char **rest)
{
	if (check_link(at, st) == -1)
		return -1;
	if (!is_in_proc(at))
		return expand(at, fd, rest);
	at->follow = **rest == '\0';
	return at->follow ? 1 : enter(at, openat(at->dir, at->name, PLACE | O_DIRECTORY));
}

/* Goes on from the name that was taken, which is `fd`.  Returns 1 at the end of the path. */
static int step(struct cpc_outpath *at, int fd, bool last, char **rest, unsigned *nlinks)
{
	struct stat st;
	int rc, error;

	if (fstat(fd, &st) == -1)
		rc = fail(at, errno);
	else if (S_ISLNK(st.st_mode))
		rc = ++*nlinks > MAX_LINKS ? fail(at, ELOOP) : follow(at, fd, &st, rest);
	else if (last)
		rc = 1;
	else if (!S_ISDIR(st.st_mode))
		rc = fail(at, ENOTDIR);
	else /* opened again as a directory, so that autofs(5) mounts what belongs there */
		rc = enter(at, openat(at->dir, at->name, PLACE | O_DIRECTORY | O_NOFOLLOW));
	error = errno;
	close(fd);
	errno = error;
	return rc;
}

/* Takes the first name off the path.  Returns true if it is the last one. */
static bool take_name(struct cpc_outpath *at, char *rest, int *error)
{
	char *from = rest + strspn(rest, "/"), *end = from + strcspn(from, "/");
	const size_t n = (size_t)(end - from);
	const bool slash = *end == '/';
	bool last;

	*error = n > NAME_MAX ? ENAMETOOLONG : 0;
	if (*error != 0)
		return false;
	memcpy(at->name, from, n);
	at->name[n] = '\0';
	end += strspn(end, "/");
	last = *end == '\0';
	memmove(rest, end, strlen(end) + 1);
	if (last && (slash || n == 0 || strcmp(at->name, ".") == 0 || strcmp(at->name, "..") == 0))
		*error = EISDIR;
	return last;
}

static int walk(struct cpc_outpath *at, char **rest)
{
	unsigned nlinks = 0;
	int fd, rc = 0, error;
	bool last;

	while (rc == 0) {
		last = take_name(at, *rest, &error);
		if (error != 0)
			return fail(at, error);
		fd = openat(at->dir, at->name, PLACE | O_NOFOLLOW);
		if (fd == -1)
			return last && errno == ENOENT ? 0 : fail(at, errno);
		rc = step(at, fd, last, rest, &nlinks);
	}
	return rc == 1 ? 0 : -1;
}

int cpc_outpath_find(struct cpc_outpath *at, const char *path)
{
	char *rest = strdup(path);
	int rc, error;

	*at = (struct cpc_outpath){.dir = -1, .is_root = is_root()};
	if (rest == NULL)
		return fail(at, ENOMEM);
	if (*path == '\0')
		rc = fail(at, ENOENT);
	else
		rc = enter(at, open(*path == '/' ? "/" : ".", PLACE | O_DIRECTORY));
	if (rc == 0)
		rc = walk(at, &rest);
	error = errno;
	free(rest);
	if (rc == -1)
		cpc_outpath_close(at);
	errno = error;
	return rc;
}

int cpc_outpath_check(struct cpc_outpath *at, const struct stat *st, bool in_place)
{
	const bool ours = is_ours(st->st_uid);

	if (S_ISDIR(st->st_mode))
		return fail(at, EISDIR);
	if (!at->shared)
		return 0;
	if (!ours && st->st_uid != at->owner) {
		snprintf(at->why, sizeof(at->why),
			 "it belongs to user %u, in a directory where other users can write; "
			 "remove it or choose another directory",
			 (unsigned)st->st_uid);
		return refuse();
	}
	/* Our file elsewhere can have a second name here. */
	if (in_place && ours && S_ISREG(st->st_mode) && st->st_nlink > 1) {
		snprintf(at->why, sizeof(at->why),
			 "it has %lu names (hard links), in a directory where other users can "
			 "write; remove it or choose another directory",
			 (unsigned long)st->st_nlink);
		return refuse();
	}
	return 0;
}

/* Opens the file, if it exists and may be written.  It can be replaced between the checks. */
static int open_existing(struct cpc_outpath *at, int flags)
{
	struct stat st;
	int fd, error;

	if (fstatat(at->dir, at->name, &st, at->follow ? 0 : AT_SYMLINK_NOFOLLOW) == -1)
		return fail(at, errno);
	if (cpc_outpath_check(at, &st, true) == -1)
		return -1;
	fd = openat(at->dir, at->name, flags | O_CLOEXEC | (at->follow ? 0 : O_NOFOLLOW));
	if (fd == -1)
		return fail(at, errno);
	if ((fstat(fd, &st) == -1 && fail(at, errno) == -1) ||
	    cpc_outpath_check(at, &st, true) == -1) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int cpc_outpath_open(struct cpc_outpath *at, int flags)
{
	int fd = -1;

	/* Another process can create or remove the file meanwhile. */
	for (unsigned n = 0; n < MAX_RACES; n++) {
		fd = open_existing(at, flags);
		if (fd != -1 || errno != ENOENT)
			return fd;
		fd = openat(at->dir, at->name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0666);
		if (fd != -1)
			return fd;
		if (errno != EEXIST)
			return fail(at, errno);
	}
	return fail(at, EEXIST);
}

void cpc_outpath_close(struct cpc_outpath *at)
{
	if (at->dir != -1)
		close(at->dir);
	at->dir = -1;
}
