/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outfile.c - an output file.
 */
#include "outfile.h"

#include "../base/replace.h"
#include "../base/say.h"
#include "../base/util.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor of /dev/stdout, /dev/stderr or /dev/fd/N; -1: another path. */
static int fd_of_path(const char *path)
{
	const char *bad;
	int fd;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if (strncmp(path, "/dev/fd/", strlen("/dev/fd/")) != 0)
		return -1;
	fd = (int)strtonum(path + strlen("/dev/fd/"), 0, INT_MAX, &bad);
	return bad == NULL ? fd : -1;
}

/* Files are appended to, so that programs that copy and truncate logs leave no gap. */
static int open_path(struct cpc_outpath *at, const char *path)
{
	int fd;

	if (cpc_outpath_find(at, path) == -1)
		return -1;
	fd = cpc_outpath_open(at, O_WRONLY | O_APPEND);
	cpc_outpath_close(at);
	if (fd == -1 || replace_lock(at, fd) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Does the device refuse to write even nothing, as full(4) does?  Then fail before the start. */
static bool refuses_all(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && !isatty(fd) && write(fd, "", 0) == -1;
}

int outfile_open(struct outfile *out, const char *path, bool append)
{
	struct cpc_outpath at = {0};
	int fd = path != NULL ? fd_of_path(path) : -1;

	*out = (struct outfile){.path = path, .append = append};
	out->named = path != NULL && fd == -1;
	if (out->named)
		fd = open_path(&at, path);
	else if (path != NULL && (fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		snprintf(at.why, sizeof(at.why), "%s", strerror(errno));
	if (fd != -1 && refuses_all(fd)) {
		snprintf(at.why, sizeof(at.why), "%s", strerror(errno));
		close(fd);
		fd = -1;
	}
	if (path != NULL && fd == -1) {
		say("cannot write '%s': %s", path, at.why);
		return -1;
	}
	out->file = path != NULL ? fdopen(fd, "w") : stdout;
	if (out->file != NULL)
		return 0;
	say("cannot write '%s': %s", path, strerror(errno));
	close(fd);
	return -1;
}

/* False for a standard stream that was closed: see guard_streams(). */
static bool is_writable(int fd)
{
	int mode = fcntl(fd, F_GETFL);

	return mode != -1 && (mode & O_ACCMODE) != O_RDONLY;
}

int outfile_open_apart(struct outfile *out)
{
	int fd;

	if (!is_writable(STDOUT_FILENO) || !is_writable(STDERR_FILENO))
		return outfile_open(out, NULL, false);
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	*out = (struct outfile){.file = fd != -1 ? fdopen(fd, "w") : NULL};
	if (out->file == NULL) {
		say("cannot write the standard output: %s", strerror(errno));
		return -1;
	}
	dup2(STDERR_FILENO, STDOUT_FILENO);
	return 0;
}

bool outfile_same(const char *path, const char *other)
{
	struct stat st, st2;

	if (path == NULL || other == NULL)
		return false;
	if (stat(path, &st) == -1 || stat(other, &st2) == -1)
		return strcmp(path, other) == 0;
	return S_ISREG(st.st_mode) && st.st_dev == st2.st_dev && st.st_ino == st2.st_ino;
}

/* ---- files that are replaced --------------------------------------------------- */

int outfile_open_replaced(struct outfile *out, const char *path)
{
	struct replace *replace;
	enum replace_found found = REPLACE_OTHER;

	if (fd_of_path(path) != -1)
		return outfile_open(out, path, false);
	replace = xcalloc(1, sizeof(*replace));
	found = replace_open(replace, path);
	if (found != REPLACE_READY) {
		if (found == REPLACE_FAILED)
			say("cannot write '%s': %s", path, replace->at.why);
		free(replace);
		return found == REPLACE_FAILED ? -1 : outfile_open(out, path, false);
	}
	*out = (struct outfile){.path = path, .replaced = replace};
	out->file = open_memstream(&out->text, &out->size);
	if (out->file != NULL)
		return 0;
	say("cannot write '%s': %s", path, strerror(errno));
	replace_close(replace);
	free(replace);
	return -1;
}

/* Without new contents, the file stays as it is. */
static int flush_replaced(const struct outfile *out)
{
	int error = 0;

	if (fflush(out->file) != 0)
		return errno;
	if (out->size > 0)
		error = replace_write(out->replaced, out->text, out->size);
	rewind(out->file);
	return error;
}

/* ---- all files ----------------------------------------------------------------- */

void outfile_buffer(struct outfile *out, size_t size)
{
	/* glibc ignores the size if the buffer is NULL. */
	out->buffer = xrealloc(NULL, size);
	setvbuf(out->file, out->buffer, _IOFBF, size);
}

void outfile_begin(const struct outfile *out)
{
	struct stat st;
	int fd = out->replaced == NULL ? fileno(out->file) : -1;

	if (out->named && !out->append && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fd, 0) == -1)
		say("cannot empty '%s': %s", out->path, strerror(errno));
}

int outfile_flush(struct outfile *out)
{
	if (out->replaced != NULL)
		return flush_replaced(out);
	errno = 0;
	if (out->error == 0 && (fflush(out->file) != 0 || ferror(out->file)))
		out->error = errno != 0 ? errno : EIO;
	return out->error;
}

int outfile_close(struct outfile *out)
{
	int error = outfile_flush(out);

	if (fclose(out->file) != 0 && error == 0)
		error = errno;
	if (out->replaced != NULL)
		replace_close(out->replaced);
	free(out->replaced);
	free(out->text);
	free(out->buffer);
	return error;
}

bool outfile_is_regular(const struct outfile *out)
{
	struct stat st;

	return out->named && fstat(fileno(out->file), &st) == 0 && S_ISREG(st.st_mode);
}

int outfile_next(const struct outfile *out)
{
	struct cpc_outpath at = {0};
	struct stat own, st;
	int fd;

	if (fstat(fileno(out->file), &own) == 0 && stat(out->path, &st) == 0 &&
	    own.st_dev == st.st_dev && own.st_ino == st.st_ino)
		return -1;
	fd = open_path(&at, out->path);
	if (fd != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd != -1)
		close(fd);
	say("cannot open '%s' again: %s; the output goes on into the file that was renamed",
	    out->path, fd == -1 ? at.why : "it is no longer a regular file");
	return -1;
}

void outfile_change(struct outfile *out, int fd)
{
	/* It cannot fail: both are open. */
	while (dup3(fd, fileno(out->file), O_CLOEXEC) == -1 && (errno == EINTR || errno == EBUSY))
		;
	close(fd);
}

bool outfile_has_reader(const struct outfile *out)
{
	struct stat st;

	return out->replaced == NULL && fstat(fileno(out->file), &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fileno(out->file)));
}

int outfile_poll(const struct outfile *out)
{
	struct pollfd fd = {.fd = fileno(out->file)};

	if (out->replaced != NULL || poll(&fd, 1, 0) < 1 || (fd.revents & (POLLERR | POLLHUP)) == 0)
		return 0;
	return isatty(fd.fd) ? EIO : EPIPE;
}
