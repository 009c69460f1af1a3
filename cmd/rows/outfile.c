/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outfile.c - an output file.
 */
#include "outfile.h"

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

static FILE *open_path(struct outfile *out, const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (out->append ? O_APPEND : 0);
	int fd = fd_of_path(path);

	out->named = fd == -1;
	fd = out->named ? open(path, flags, 0666) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd != -1 ? fdopen(fd, "w") : NULL;
}

int outfile_open(struct outfile *out, const char *path, bool append)
{
	*out = (struct outfile){.path = path, .append = append};
	out->file = path != NULL ? open_path(out, path) : stdout;
	if (out->file != NULL)
		return 0;
	say("cannot write '%s': %s", path, strerror(errno));
	return -1;
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

/* The temporary file for the next contents of `path`, in the same folder. */
static char *temporary_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash != NULL ? (size_t)(slash + 1 - path) : 0;

	return xasprintf("%.*s.%s.new", (int)n, path, path + n);
}

/* A killed process leaves its temporary file: remove it first. */
static int create_temporary(const char *name)
{
	if (unlink(name) == -1 && errno != ENOENT)
		return -1;
	return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/* Writes `text` to `fd` and closes it.  Returns 0, or an errno. */
static int write_all(int fd, const char *text, size_t size)
{
	int error = 0;
	ssize_t n;

	while (size > 0 && error == 0) {
		n = write(fd, text, size);
		if (n == -1 && errno != EINTR) {
			error = errno;
		} else if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
	if (close(fd) == -1 && error == 0)
		error = errno;
	return error;
}

/*
 * Replaces the contents of `path`; `text` NULL: only tries whether that is possible.  Returns 0, or
 * an errno: the file is unchanged, and the temporary file is removed.
 */
static int replace(const char *path, const char *text, size_t size)
{
	char *name = temporary_name(path);
	int fd = create_temporary(name), error = fd == -1 ? errno : 0;

	if (fd != -1) {
		error = write_all(fd, text, size);
		if (error == 0 && text != NULL && rename(name, path) == -1)
			error = errno;
		if (error != 0 || text == NULL)
			unlink(name);
	}
	free(name);
	return error;
}

int outfile_open_replaced(struct outfile *out, const char *path)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int error;

	if (fd_of_path(path) != -1 || (exists ? !S_ISREG(st.st_mode) : errno != ENOENT))
		return outfile_open(out, path, false);
	*out = (struct outfile){.path = path};
	/* Keep a symbolic link: replace its target. */
	out->replaced = exists ? realpath(path, NULL) : xstrdup(path);
	error = out->replaced != NULL ? replace(out->replaced, NULL, 0) : errno;
	if (error == 0)
		out->file = open_memstream(&out->text, &out->size);
	if (error == 0 && out->file == NULL)
		error = errno;
	if (error == 0)
		return 0;
	free(out->replaced);
	say("cannot write '%s': %s", path, strerror(error));
	return -1;
}

/* Without new contents, the file stays as it is. */
static int flush_replaced(const struct outfile *out)
{
	int error = 0;

	if (fflush(out->file) != 0)
		return errno;
	if (out->size > 0)
		error = replace(out->replaced, out->text, out->size);
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
	free(out->replaced);
	free(out->text);
	free(out->buffer);
	return error;
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
