/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * file.c - files that output goes to, and when writing fails.
 */
#include "file.h"

#include "../common/say.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor that /dev/stdout and its like stand for; -1: another path. */
static int descriptor(const char *path)
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
	int fd = descriptor(path);

	out->named = fd == -1;
	fd = out->named ? open(path, flags, 0666) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd != -1 ? fdopen(fd, "w") : NULL;
}

int outfile_open(struct outfile *out, const char *path, bool append)
{
	*out = (struct outfile){.append = append};
	out->file = path != NULL ? open_path(out, path) : stdout;
	if (out->file != NULL)
		return 0;
	say("cannot write '%s': %s", path, strerror(errno));
	return -1;
}

void outfile_begin(const struct outfile *out)
{
	struct stat st;
	int fd = fileno(out->file);

	if (out->named && !out->append && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fd, 0) == -1)
		say("cannot empty the table's file: %s", strerror(errno));
}

int outfile_flush(const struct outfile *out)
{
	errno = 0;
	if (fflush(out->file) == 0 && !ferror(out->file))
		return 0;
	return errno != 0 ? errno : EIO;
}

int outfile_close(const struct outfile *out)
{
	int error = outfile_flush(out);

	if (fclose(out->file) != 0 && error == 0)
		error = errno;
	return error;
}

bool outfile_has_reader(const struct outfile *out)
{
	struct stat st;

	return fstat(fileno(out->file), &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fileno(out->file)));
}

int outfile_poll(const struct outfile *out)
{
	struct pollfd fd = {.fd = fileno(out->file)};

	if (poll(&fd, 1, 0) < 1 || (fd.revents & (POLLERR | POLLHUP)) == 0)
		return 0;
	return isatty(fd.fd) ? EIO : EPIPE;
}
