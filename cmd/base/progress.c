/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * progress.c - a line on the terminal with the progress of a series of runs.
 */
#include "progress.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SHOW_NS 2000000000LL /* shorter series of runs get no line */
#define LINE_MAX_SIZE 80

static int shown_width; /* of the line on the terminal; 0: no line is shown */

/* The most characters of the line.  A line that wraps could not be erased. */
static int max_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
			       size.ws_col < LINE_MAX_SIZE
		       ? size.ws_col - 1
		       : LINE_MAX_SIZE - 1;
}

/* Not while the user has stopped the output: a write would wait. */
static bool is_ready(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) != 0;
}

void progress_erase(void)
{
	if (shown_width == 0 || !is_ready())
		return;
	fprintf(stderr, "\r%*s\r", shown_width, "");
	fflush(stderr);
	shown_width = 0;
}

void progress_show(unsigned done, unsigned total, int64_t elapsed_ns)
{
	double left_s = done > 0 ? (double)elapsed_ns / done * (total - done) / 1e9 : 0;
	char text[LINE_MAX_SIZE];

	if (done == 0 || elapsed_ns < SHOW_NS || !isatty(STDERR_FILENO) || !is_ready())
		return;
	progress_erase();
	snprintf(text, sizeof(text), "run %u of %u, %.0f %s left", done + 1, total,
		 left_s < 100 ? left_s : left_s / 60, left_s < 100 ? "s" : "min");
	/* Leave the cursor at the start of the line, so that output of the command replaces it. */
	shown_width = fprintf(stderr, "%.*s", max_width(), text);
	fputc('\r', stderr);
	fflush(stderr);
}
