/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * backlog.c - output to a pipe, socket or terminal whose reader may pause.
 *
 * Our parent, our command and the shell share the open file description of our output, to which
 * O_NONBLOCK would belong.  So open a description of our own, by /proc/self/fd.
 */
#include "backlog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define NSEC 1000000000LL
#define MIN_SIZE (1 << 16)
#ifndef MAX_KEPT
#define MAX_KEPT (256 << 20) /* more than this waits for the reader: 2 million rows */
#endif
#define GRACE_MS 400 /* after a signal: how long the reader may take nothing */

static bool (*has_signal)(void);

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

void backlog_on_signals(bool (*signalled)(void))
{
	has_signal = signalled;
}

/* Opening the main side of a pseudo-terminal again would make another terminal. */
static bool is_main_side(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 5 && minor(st->st_rdev) == 2;
}

bool backlog_open(struct backlog *b, int fd)
{
	char path[32];
	struct stat st;

	*b = (struct backlog){.fd = fd, .own = -1};
	if (fstat(fd, &st) == -1)
		return false;
	b->is_socket = S_ISSOCK(st.st_mode);
	if (b->is_socket)
		return true;
	if (!S_ISFIFO(st.st_mode) && !isatty(fd))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!is_main_side(&st))
		b->own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return true;
}

void backlog_close(struct backlog *b)
{
	if (b->own != -1)
		close(b->own);
	free(b->text);
	*b = (struct backlog){.fd = -1, .own = -1};
}

/* Does not wait for the reader, or without a description of our own only in rare cases. */
static ssize_t write_some(const struct backlog *b)
{
	const char *text = b->text + b->first;
	struct pollfd out = {.fd = b->fd, .events = POLLOUT};

	if (b->own != -1)
		return write(b->own, text, b->n);
	if (b->is_socket)
		return send(b->fd, text, b->n, MSG_DONTWAIT);
	/* There is room for so much, unless other writers fill it before us. */
	if (poll(&out, 1, 0) != 0)
		return write(b->fd, text, b->n < PIPE_BUF ? b->n : PIPE_BUF);
	errno = EAGAIN;
	return -1;
}

int backlog_push(struct backlog *b)
{
	ssize_t n;

	while (b->n > 0 && b->error == 0) {
		n = write_some(b);
		if (n >= 0) {
			b->abandoned = false;
			b->first += (size_t)n;
			b->n -= (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			break;
		} else if (errno != EINTR) {
			b->error = errno;
		}
	}
	if (b->n == 0)
		b->first = 0;
	return b->error;
}

/* Signals that ask to end are only let in by this, so that none is missed before the wait. */
static int wait_writable(const struct backlog *b, int64_t ns, const sigset_t *open)
{
	const struct timespec ts = {.tv_sec = ns / NSEC, .tv_nsec = ns % NSEC};
	struct pollfd out = {.fd = b->own != -1 ? b->own : b->fd, .events = POLLOUT};

	return ppoll(&out, 1, ns != INT64_MAX ? &ts : NULL, open);
}

/* Waits until the reader has taken some text.  EINTR: it took none for long. */
static int wait_for_reader(struct backlog *b, bool soon)
{
	static const int ending[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	const size_t before = b->n;
	int64_t left_ns, end_ns = b->abandoned ? 0 : INT64_MAX;
	sigset_t held, open;
	int error = 0;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&held, ending[i]);
	pthread_sigmask(SIG_BLOCK, &held, &open);
	held = open;
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigdelset(&open, ending[i]);
	while (error == 0 && backlog_push(b) == 0 && b->n == before) {
		if (end_ns == INT64_MAX && (soon || (has_signal != NULL && has_signal())))
			end_ns = now_ns() + GRACE_MS * 1000000LL;
		left_ns = end_ns != INT64_MAX ? end_ns - now_ns() : INT64_MAX;
		if (left_ns < 0)
			error = EINTR;
		else if (wait_writable(b, left_ns, &open) == -1 && errno != EINTR)
			error = errno;
	}
	b->abandoned = error == EINTR;
	pthread_sigmask(SIG_SETMASK, &held, NULL);
	return error != 0 ? error : b->error;
}

/* False: there is no memory. */
static bool make_room(struct backlog *b, size_t n)
{
	size_t size = b->size != 0 ? b->size : MIN_SIZE;
	char *text;

	if (b->first > 0 && b->first >= b->n && b->first + b->n + n > b->size) {
		memmove(b->text, b->text + b->first, b->n);
		b->first = 0;
	}
	while (b->first + b->n + n > size)
		size *= 2;
	if (size == b->size)
		return true;
	text = realloc(b->text, size);
	if (text == NULL)
		return false;
	b->text = text;
	b->size = size;
	return true;
}

int backlog_put(struct backlog *b, const char *text, size_t n)
{
	bool room = make_room(b, n);
	int error = b->error;

	while (error == 0 && (!room || b->n > MAX_KEPT)) {
		error = b->n > 0 ? wait_for_reader(b, false) : ENOMEM;
		room = room || make_room(b, n);
	}
	/* After a signal, little is to come. */
	if (b->error == 0 && !room)
		b->error = ENOMEM;
	if (b->error != 0)
		return b->error;
	memcpy(b->text + b->first + b->n, text, n);
	b->n += n;
	return backlog_push(b);
}

int backlog_wait(struct backlog *b, bool soon)
{
	int error = b->error;

	while (error == 0 && b->n > 0)
		error = wait_for_reader(b, soon);
	return error;
}

size_t backlog_lines(const struct backlog *b)
{
	size_t lines = 0;

	for (size_t i = 0; i < b->n; i++)
		lines += b->text[b->first + i] == '\n';
	return lines;
}
