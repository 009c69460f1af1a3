/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replace.c - replaces the contents of a file at once.
 */
#include "replace.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL "system.posix_acl_access"

#define TEMPORARY_SIZE (NAME_MAX + 1)

static int fail(struct replace *r, int error)
{
	snprintf(r->at.why, sizeof(r->at.why), "%s", strerror(error));
	return error;
}

/* Can the file be written in place, if replacing it failed so? */
static bool is_obstacle(int error)
{
	return error == EBUSY || error == EPERM || error == EACCES || error == EROFS ||
	       error == EXDEV || error == EOPNOTSUPP;
}

/* The process that has locked the file; 0: unknown. */
static pid_t lock_holder(const struct stat *st)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned major_id, minor_id;
	unsigned long long inode;
	char line[256];
	pid_t holder = 0;
	int pid;

	/* Some file systems have another minor number in stat(2). */
	while (f != NULL && holder == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s FLOCK %*s WRITE %d %x:%x:%llu", &pid, &major_id, &minor_id,
			   &inode) == 4 &&
		    inode == st->st_ino && major_id == major(st->st_dev))
			holder = pid;
	}
	if (f != NULL)
		fclose(f);
	return holder;
}

/* Says who writes the file; it may replace the file meanwhile. */
static void name_writer(struct cpc_outpath *at, struct stat *st)
{
	char path[64], name[32] = "";
	pid_t pid = lock_holder(st);
	FILE *f;

	for (int i = 0; i < 10 && pid == 0; i++) {
		if (fstatat(at->dir, at->name, st, AT_SYMLINK_NOFOLLOW) == 0)
			pid = lock_holder(st);
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = pid != 0 ? fopen(path, "re") : NULL;
	if (f != NULL && fgets(name, sizeof(name), f) != NULL)
		name[strcspn(name, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
	if (*name != '\0')
		snprintf(at->why, sizeof(at->why), "%s (pid %d) is writing it", name, (int)pid);
	else
		snprintf(at->why, sizeof(at->why), "another program is writing it");
}

int replace_lock(struct cpc_outpath *at, int fd)
{
	struct stat st;

	/* Some file systems have no locks. */
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || flock(fd, LOCK_EX | LOCK_NB) == 0 ||
	    errno != EWOULDBLOCK)
		return 0;
	name_writer(at, &st);
	errno = EBUSY;
	return -1;
}

/* ---- the new file -------------------------------------------------------------------- */

/* A random name: no other user can create it first.  A long name is cut. */
static void make_name(const struct replace *r, char name[TEMPORARY_SIZE])
{
	uint64_t word = 0;

	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != sizeof(word))
		word = (uint64_t)now_ns() << 20 ^ (uint64_t)getpid();
	snprintf(name, TEMPORARY_SIZE, ".%.200s.%016llx.new", r->at.name, (unsigned long long)word);
}

/* Creates a file; without a name, if the file system can: then SIGKILL leaves nothing. */
static int create(const struct replace *r, mode_t mode, char name[TEMPORARY_SIZE])
{
	int fd = openat(r->at.dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	*name = '\0';
	if (fd != -1 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	do {
		make_name(r, name);
		fd = openat(r->at.dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    mode);
	} while (fd == -1 && errno == EEXIST);
	return fd;
}

/* Gives an unnamed file a name. */
static int give_name(const struct replace *r, int fd, char name[TEMPORARY_SIZE])
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	do {
		make_name(r, name);
		rc = linkat(AT_FDCWD, path, r->at.dir, name, AT_SYMLINK_FOLLOW);
	} while (rc == -1 && errno == EEXIST);
	if (rc == -1)
		*name = '\0';
	return rc;
}

/* Copies an attribute.  Those of security modules belong to the new file's place. */
static int copy_attribute(int from, int to, const char *name)
{
	char value[XATTR_SIZE_MAX];
	ssize_t n;

	if (strncmp(name, "security.", strlen("security.")) == 0)
		return 0;
	n = fgetxattr(from, name, value, sizeof(value));
	if (n == -1)
		return errno == ENODATA ? 0 : -1;
	return fsetxattr(to, name, value, (size_t)n, 0);
}

/* Copies the attributes, and with them access control lists. */
static int copy_attributes(int from, int to)
{
	char names[XATTR_LIST_MAX];
	ssize_t n = flistxattr(from, names, sizeof(names));

	if (n == -1)
		return errno == EOPNOTSUPP ? 0 : -1;
	for (const char *name = names; name < names + n; name += strlen(name) + 1) {
		if (copy_attribute(from, to, name) == -1)
			return -1;
	}
	return 0;
}

/* Gives a new file the owner, group, mode and attributes of the old one. */
static int copy_access(int from, const struct stat *old, int to)
{
	struct stat new;

	if (fstat(to, &new) == -1)
		return -1;
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
	    fchown(to, old->st_uid, old->st_gid) == -1)
		return -1;
	/* The directory can have a default list. */
	if (fremovexattr(to, ACL) == -1 && errno != ENODATA && errno != EOPNOTSUPP)
		return -1;
	if (fchmod(to, old->st_mode & 0777) == -1)
		return -1;
	return copy_attributes(from, to);
}

/* ---- the old file ------------------------------------------------------------------- */

/* Opens the present file, for its lock and its attributes, and maybe to write it in place. */
static int open_present(struct replace *r, struct stat *st)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = openat(r->at.dir, r->at.name, O_WRONLY | flags);

	if (fd == -1 && errno == EACCES)
		fd = openat(r->at.dir, r->at.name, O_RDONLY | flags);
	if (fd != -1 && fstat(fd, st) == 0)
		return fd;
	fail(r, errno);
	if (fd != -1)
		close(fd);
	return -1;
}

static bool is_current(const struct replace *r, const struct stat *st)
{
	struct stat own;

	return r->fd != -1 && fstat(r->fd, &own) == 0 && own.st_dev == st->st_dev &&
	       own.st_ino == st->st_ino;
}

/* Makes the present file the current one, and locks it.  Returns 0, or an errno. */
static int look(struct replace *r, struct stat *st, bool *exists)
{
	int fd, error;

	*exists = fstatat(r->at.dir, r->at.name, st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!*exists)
		return errno == ENOENT ? 0 : fail(r, errno);
	if (cpc_outpath_check(&r->at, st, false) == -1)
		return errno;
	if (!S_ISREG(st->st_mode)) /* it was one at the start */
		return fail(r, EEXIST);
	if (is_current(r, st))
		return 0;
	fd = open_present(r, st);
	if (fd == -1)
		return errno;
	if (cpc_outpath_check(&r->at, st, false) == -1 || replace_lock(&r->at, fd) == -1) {
		error = errno;
		close(fd);
		return error;
	}
	if (r->fd != -1)
		close(r->fd);
	r->fd = fd;
	return 0;
}

/* -1: unknown. */
static int mount_of(int fd)
{
	char path[64], line[256];
	int id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL && sscanf(line, "mnt_id: %d", &id) != 1)
		;
	fclose(f);
	return id;
}

/* The kernel refuses to rename it. */
static bool is_mount_point(const struct replace *r)
{
	return mount_of(r->fd) != mount_of(r->at.dir);
}

/* ---- writing ------------------------------------------------------------------------- */

static int write_all(int fd, const char *text, size_t size)
{
	off_t at = 0;
	ssize_t n;

	while ((size_t)at < size) {
		n = pwrite(fd, text + at, size - (size_t)at, at);
		if (n == -1 && errno != EINTR)
			return -1;
		at += n > 0 ? n : 0;
	}
	return 0;
}

static int write_in_place(struct replace *r, const char *text, size_t size)
{
	if (write_all(r->fd, text, size) == -1 || ftruncate(r->fd, (off_t)size) == -1)
		return fail(r, errno);
	return 0;
}

/* Writes a new file, and renames it.  `text` NULL: only tries to create it. */
static int write_new(struct replace *r, const struct stat *old, const char *text, size_t size)
{
	char name[TEMPORARY_SIZE];
	int fd = create(r, old != NULL ? 0600 : 0666, name), error = 0;

	if (fd == -1)
		return fail(r, errno);
	if ((old != NULL && copy_access(r->fd, old, fd) == -1) ||
	    (text != NULL && write_all(fd, text, size) == -1) ||
	    (text != NULL && *name == '\0' && give_name(r, fd, name) == -1) ||
	    (text != NULL && replace_lock(&r->at, fd) == -1) ||
	    (text != NULL && renameat(r->at.dir, name, r->at.dir, r->at.name) == -1))
		error = fail(r, errno);
	if (*name != '\0' && (error != 0 || text == NULL))
		unlinkat(r->at.dir, name, 0);
	if (error != 0 || text == NULL) {
		close(fd);
		return error;
	}
	if (r->fd != -1)
		close(r->fd);
	r->fd = fd;
	return 0;
}

static int write_somehow(struct replace *r, const char *text, size_t size)
{
	struct stat st;
	bool exists;
	int error = look(r, &st, &exists);

	if (error != 0)
		return error;
	r->in_place = exists && (r->in_place || is_mount_point(r));
	if (!r->in_place) {
		error = write_new(r, exists ? &st : NULL, text, size);
		if (!exists || !is_obstacle(error))
			return error;
		r->in_place = true;
	}
	/* It can be open for reading only. */
	if ((fcntl(r->fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return error != 0 ? error : fail(r, EACCES);
	if (cpc_outpath_check(&r->at, &st, true) == -1)
		return errno;
	return text != NULL ? write_in_place(r, text, size) : 0;
}

enum replace_found replace_open(struct replace *r, const char *path)
{
	struct stat st;
	int error;

	*r = (struct replace){.fd = -1};
	if (cpc_outpath_find(&r->at, path) == -1)
		return REPLACE_FAILED;
	if (r->at.follow || (fstatat(r->at.dir, r->at.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			     !S_ISREG(st.st_mode))) {
		replace_close(r);
		return REPLACE_OTHER;
	}
	error = write_somehow(r, NULL, 0);
	if (error == 0)
		return REPLACE_READY;
	replace_close(r);
	errno = error;
	return REPLACE_FAILED;
}

int replace_write(struct replace *r, const char *text, size_t size)
{
	return write_somehow(r, text, size);
}

void replace_close(struct replace *r)
{
	if (r->fd != -1)
		close(r->fd);
	r->fd = -1;
	cpc_outpath_close(&r->at);
}
