/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * out.c - rows of samples, written as the Solaris tables.
 */
#include "out.h"

#include "say.h"
#include "util.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define CYCLES "tsc"
#else
#define CYCLES "tick"
#endif

void out_header(const struct out *out)
{
	FILE *f = out->file;

	fprintf(f, "%7s ", "time");
	if (out->cpus) {
		fprintf(f, "%3s %5s ", "cpu", "event");
	} else {
		if (out->pids)
			fprintf(f, "%6s ", "pid");
		fprintf(f, "%3s %10s ", "lwp", "event");
	}
	if (out->cycles)
		fprintf(f, "%9s ", CYCLES);
	for (unsigned i = 0; i < out->grp->ncols; i++)
		fprintf(f, "%8s%-2u", "pic", out->grp->col[i]);
	fputc('\n', f);
}

/* Prints a count, scaled to its unit, such as the Joules of an energy counter. */
static void put_value(const struct out *out, const struct row *row, int req, uint64_t val)
{
	const char *unit;
	double scale = 1;

	cpc_set_request_scale(out->cpc, out->grp->set[row->set].set, req, &scale, &unit);
	if (row->mean_of > 0)
		scale /= row->mean_of;
	if (scale == 1 && row->mean_of == 0) /* exactly 1: an event without a unit */
		fprintf(out->file, "%9" PRId64 " ", (int64_t)val);
	else
		fprintf(out->file, "%9.2f ", (double)(int64_t)val * scale);
}

static void put_cycles(const struct out *out, const struct row *row)
{
	if (row->data != ROW_COUNTS)
		fprintf(out->file, "%9s ", row->data == ROW_MISSING ? "-" : "");
	else if (row->mean_of > 0)
		fprintf(out->file, "%9.2f ",
			(double)cpc_buf_tick(out->cpc, row->buf) / row->mean_of);
	else
		fprintf(out->file, "%9" PRIu64 " ", cpc_buf_tick(out->cpc, row->buf));
}

static void put_counts(const struct out *out, const struct row *row)
{
	const struct setgrp *grp = out->grp;
	uint64_t val;

	if (out->cycles)
		put_cycles(out, row);
	for (unsigned i = 0; i < grp->ncols; i++) {
		int req = -1;

		if (row->data != ROW_BLANK)
			req = setgrp_request(&grp->set[row->set], grp->col[i]);
		if (req == -1)
			fprintf(out->file, "%9s ", "");
		else if (row->data == ROW_COUNTS && cpc_buf_get(out->cpc, row->buf, req, &val) == 0)
			put_value(out, row, req, val);
		else
			fprintf(out->file, "%9s ", "-");
	}
}

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

int out_open(struct out *out, const char *path)
{
	int fd = descriptor(path);

	out->named = fd == -1;
	if (fd != -1)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd == -1)
		return -1;
	out->file = fdopen(fd, "w");
	return out->file != NULL ? 0 : -1;
}

void out_begin(const struct out *out)
{
	struct stat st;
	int fd = fileno(out->file);

	if (out->named && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) == -1)
		say("cannot empty the table's file: %s", strerror(errno));
}

static void put_note(FILE *f, const char *note, const char *quote)
{
	fprintf(f, "# %s", quote);
	put_escaped(f, note);
	fputs(quote, f);
}

void out_row(const struct out *out, const struct row *row)
{
	FILE *f = out->file;
	/* As %7.3f of seconds, which would take more than twice as long. */
	int64_t ms = (row->time_ns + NSEC / 2000) / (NSEC / 1000);
	long s = (long)(ms / 1000);
	int id = out->tids ? (int)row->tid : row->id;

	if (out->cpus && row->id == ROW_ALL)
		fprintf(f, "%3ld.%03d all %5s ", s, (int)(ms % 1000), row->event);
	else if (out->cpus)
		fprintf(f, "%3ld.%03d %3d %5s ", s, (int)(ms % 1000), row->id, row->event);
	else if (out->pids)
		fprintf(f, "%3ld.%03d %6d %3d %10s ", s, (int)(ms % 1000), (int)row->pid, id,
			row->event);
	else
		fprintf(f, "%3ld.%03d %3d %10s ", s, (int)(ms % 1000), id, row->event);
	put_counts(out, row);
	if (row->note != NULL)
		put_note(f, row->note, row->quoted ? "'" : "");
	else if (out->grp->n > 1 && row->data != ROW_BLANK)
		put_note(f, out->grp->set[row->set].text, "");
	if (row->incomplete)
		fprintf(f, "%s# incomplete", out->grp->n > 1 && row->data != ROW_BLANK ? " " : "");
	fputc('\n', f);
}

int out_close(const struct out *out)
{
	int error = out_flush(out);

	if (fclose(out->file) != 0 && error == 0)
		error = errno;
	return error;
}

bool out_has_reader(const struct out *out)
{
	struct stat st;

	return fstat(fileno(out->file), &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fileno(out->file)));
}

int out_poll(const struct out *out)
{
	struct pollfd fd = {.fd = fileno(out->file)};

	if (poll(&fd, 1, 0) < 1 || (fd.revents & (POLLERR | POLLHUP)) == 0)
		return 0;
	return isatty(fd.fd) ? EIO : EPIPE;
}

void out_tell(int error)
{
	if (error != EPIPE)
		say("write error: %s", strerror(error));
}

int out_flush(const struct out *out)
{
	errno = 0;
	if (fflush(out->file) == 0 && !ferror(out->file))
		return 0;
	return errno != 0 ? errno : EIO;
}
