/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * progress.c - a line on the terminal while the user waits.
 *
 * A command may write to the terminal, too.  So the text is at the right edge, and the cursor stays
 * where the command left it: short lines of the command end before the text, long ones replace it.
 */
#include "progress.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RUNS_NS 2000000000LL /* shorter series of runs get no line */
#define OPEN_NS 1000000000LL
#define MS 1000000
#define TEXT_SIZE 80
/* Keep the cursor's place, and go to a column; back to that place. */
#define GO_TO "\0337\033[%dG"
#define GO_BACK "\0338"

static struct {
	bool waits;	     /* the line is to come... */
	int64_t due_ns;	     /* ...then */
	unsigned run, total; /* 0, 0: not of runs */
	int64_t begin_ns;    /* of the first run */
	unsigned nevents, ncpus;
	int column, width; /* of the line on the terminal; width 0: no line is shown */
} line;

/* As now_ns(), which depends on say(), which depends on this file. */
static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* A terminal that understands GO_TO. */
static bool has_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

/* Not while the user has stopped the output: a write would wait. */
static bool is_ready(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) != 0;
}

static int columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void progress_erase(void)
{
	if (line.width == 0 || !is_ready())
		return;
	fprintf(stderr, GO_TO "%*s" GO_BACK, line.column, line.width, "");
	fflush(stderr);
	line.width = 0;
}

static void show(void)
{
	double left_s = line.run > 1 ? (double)(now() - line.begin_ns) / (line.run - 1) *
					       (line.total - line.run + 1) / 1e9
				     : 0;
	char text[TEXT_SIZE];
	int n;

	if (line.run > 1)
		n = snprintf(text, sizeof(text), "run %u of %u, %.0f %s left", line.run, line.total,
			     left_s < 100 ? left_s : left_s / 60, left_s < 100 ? "s" : "min");
	else if (line.run == 1)
		n = snprintf(text, sizeof(text), "run 1 of %u", line.total);
	else
		n = snprintf(text, sizeof(text), "opening %u event%s on %u CPU%s", line.nevents,
			     line.nevents == 1 ? "" : "s", line.ncpus, line.ncpus == 1 ? "" : "s");
	/* A line that wraps could not be erased. */
	line.column = columns() - n;
	if (line.column < 1)
		return;
	line.width = n;
	fprintf(stderr, GO_TO "%s" GO_BACK, line.column, text);
	fflush(stderr);
}

unsigned progress_idle(void)
{
	int64_t now_ns;

	if (!line.waits)
		return 0;
	now_ns = now();
	if (now_ns < line.due_ns)
		return (unsigned)((line.due_ns - now_ns) / MS + 1);
	line.waits = false;
	if (is_ready())
		show();
	return 0;
}

static void begin(int64_t due_ns)
{
	progress_erase();
	line.due_ns = due_ns;
	line.waits = has_terminal();
	progress_idle();
}

void progress_run(unsigned n, unsigned total, int64_t begin_ns)
{
	line.run = n;
	line.total = total;
	line.begin_ns = begin_ns;
	begin(begin_ns + RUNS_NS);
}

void progress_open(unsigned nevents, unsigned ncpus)
{
	line.nevents = nevents;
	line.ncpus = ncpus;
	if (line.run == 0)
		begin(now() + OPEN_NS);
}

void progress_opened(void)
{
	if (line.run == 0)
		progress_end();
}

void progress_end(void)
{
	progress_erase();
	line.waits = false;
	line.run = 0;
}
