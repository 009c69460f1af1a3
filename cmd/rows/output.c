/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * output.c - the sink of a run: filters, a writer, and a record.
 */
#include "output.h"

#include "../base/backlog.h"
#include "../base/say.h"
#include "../base/util.h"
#include "filters.h"
#include "listener.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (1 << 16)
#define LONG_ROW (1 << 14)

enum { WRITER, RECORD, NBRANCHES };

struct branch {
	struct outfile out; /* without a file: a listener serves the output */
	struct sink *sink;
	bool begun;   /* the writer has a run */
	FILE *keeper; /* writes to it go to the backlog; NULL: no reader can pause */
	char *buffer; /* of `keeper` */
	struct backlog backlog;
};

struct output {
	struct sink sink; /* passes the run to all branches */
	size_t n;
	struct branch branch[NBRANCHES];
	const char *failed; /* path of the file with the write error; NULL: standard output */
	bool needs_comm, needs_cycles;
	struct listener *listener;   /* or NULL */
	const struct screen *screen; /* it looks after its terminal by itself; or NULL */
};

static void output_begin(struct sink *sink, const struct run *run)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++) {
		if (o->branch[i].out.file != NULL)
			outfile_begin(&o->branch[i].out);
		/* A record can have several runs: append the following ones. */
		o->branch[i].out.append = true;
		sink_begin(o->branch[i].sink, run);
		o->branch[i].begun = true;
	}
}

/* Writes a full buffer between two rows, so that rows of several writers of a file stay whole. */
static void flush_full(struct branch *branch)
{
	struct outfile *out = &branch->out;

	if (out->file != NULL && branch->keeper == NULL && out->replaced == NULL &&
	    __fpending(out->file) > BUFFER_SIZE - LONG_ROW)
		outfile_flush(out);
}

static void output_row(struct sink *sink, const struct row *row)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++) {
		sink_row(o->branch[i].sink, row);
		flush_full(&o->branch[i]);
	}
}

static void output_sampled(struct sink *sink)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_sampled(o->branch[i].sink);
}

static void output_ended(struct sink *sink, size_t set, const char *key)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_ended(o->branch[i].sink, set, key);
}

static void output_end(struct sink *sink)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_end(o->branch[i].sink);
}

static void output_free(struct sink *sink)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_free(o->branch[i].sink);
}

/* ---- readers that may pause ---------------------------------------------------- */

static ssize_t keeper_write(void *cookie, const char *text, size_t n)
{
	const int error = backlog_put(cookie, text, n);

	errno = error;
	return error == 0 ? (ssize_t)n : 0;
}

/* Rows go to the backlog if the file has a reader.  False: there is no memory. */
static bool keep(struct branch *branch, bool by_line)
{
	const cookie_io_functions_t functions = {.write = keeper_write};
	int mode = _IOFBF;

	if (branch->out.replaced != NULL ||
	    !backlog_open(&branch->backlog, fileno(branch->out.file)))
		return true;
	branch->keeper = fopencookie(&branch->backlog, "w", functions);
	if (branch->keeper == NULL)
		return false;
	if (by_line && isatty(fileno(branch->out.file)))
		mode = _IOLBF;
	branch->buffer = xrealloc(NULL, BUFFER_SIZE);
	setvbuf(branch->keeper, branch->buffer, mode, BUFFER_SIZE);
	return true;
}

static FILE *file_of(const struct branch *branch)
{
	return branch->keeper != NULL ? branch->keeper : branch->out.file;
}

static int flush(struct branch *branch)
{
	const struct sink *writer = sink_writer(branch->sink);

	if (writer != NULL && writer->error != 0)
		return writer->error;
	if (branch->out.file == NULL)
		return 0;
	if (branch->keeper == NULL)
		return outfile_flush(&branch->out);
	if (fflush(branch->keeper) != 0 && branch->backlog.error == 0)
		branch->backlog.error = errno != 0 ? errno : EIO;
	return backlog_push(&branch->backlog);
}

/* Waits for the reader.  Returns 0 or an errno. */
static int finish(struct branch *branch)
{
	struct backlog *backlog = &branch->backlog;
	int error = 0;

	if (branch->keeper == NULL)
		return 0;
	error = flush(branch);
	if (error == 0)
		error = backlog_wait(backlog, false);
	if (error == EINTR)
		say("cannot write the last %zu lines (%zu bytes) of %s%s%s: a signal ended the wait "
		    "for its reader, which has paused",
		    backlog_lines(backlog), backlog->n, branch->out.path != NULL ? "'" : "",
		    branch->out.path != NULL ? branch->out.path : "the output",
		    branch->out.path != NULL ? "'" : "");
	backlog->n = 0;
	fclose(branch->keeper);
	free(branch->buffer);
	backlog_close(backlog);
	return error;
}

/* ---- branches -------------------------------------------------------------------- */

/* Opens the file of the next branch.  If it is `renewed`, each flush replaces the file. */
static int add_file(struct output *o, const struct output_config *config, const char *path,
		    bool by_line, const struct format *format)
{
	struct branch *branch = &o->branch[o->n];
	struct outfile *out = &branch->out;
	int rc;

	if (format->renewed && path != NULL)
		rc = outfile_open_replaced(out, path);
	else if (config->apart && path == NULL)
		rc = outfile_open_apart(out);
	else
		rc = outfile_open(out, path, config->append);
	if (rc == -1)
		return -1;
	o->n++;
	if (config->keeps && format->screen == NULL && !keep(branch, by_line)) {
		say("cannot write '%s': %s", path, strerror(errno));
		return -1;
	}
	if (branch->keeper == NULL && out->replaced == NULL &&
	    (!by_line || !isatty(fileno(out->file))))
		outfile_buffer(out, BUFFER_SIZE);
	return 0;
}

/* https://no-color.org */
static bool has_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || *no == '\0') && term != NULL && *term != '\0' &&
	       strcmp(term, "dumb") != 0;
}

/* Opens the writer of a format with its file. */
static struct sink *open_format(struct output *o, const struct output_config *config,
				const struct format *format, struct style *style)
{
	struct branch *branch = &o->branch[WRITER];
	FILE *file;

	if (add_file(o, config, config->path, config->by_line, format) == -1)
		return NULL;
	file = file_of(branch);
	o->screen = format->screen;
	style->replaced = branch->out.replaced != NULL;
	style->fd = style->replaced ? -1 : fileno(branch->out.file);
	style->terminal = !style->replaced && isatty(style->fd);
	style->names |= style->terminal;
	/* Not in rows, where the numbers of LWPs are those of Solaris. */
	style->tids |= style->terminal && (style->summary || format->screen != NULL);
	style->human = config->human == HUMAN_AUTO ? style->terminal : config->human == HUMAN_YES;
	style->colour = style->terminal && has_colours();
	return config->stats ? stats_open(&branch->out, file, format, style, config)
			     : format->open(file, style);
}

static int add_writer(struct output *o, const struct output_config *config)
{
	const struct format *format =
		config->format != NULL ? config->format : format_find("table");
	unsigned nkeys = config->nkeys > 0 ? config->nkeys : format->nkeys;
	/* A source that counts has rows of these CPUs only. */
	const bool shows_cpus =
		config->replay != NULL && config->cpus != NULL && strcmp(config->cpus, "all") != 0;
	struct style style = config->style;
	struct sink *sink;

	style.summary = config->by != SCOPE_NONE;
	o->needs_comm |= format->comm || style.comm || style.summary;
	o->needs_cycles |= format->cycles || style.cycles;
	if (config->listener != NULL) {
		o->n++;
		o->listener = config->listener;
		sink = openmetrics_serve(o->listener, &style);
	} else {
		sink = open_format(o, config, format, &style);
	}
	if (sink == NULL)
		return -1;
	if (style.summary && style.terminal && format == format_find("table"))
		sink = folded_open(sink, style.cycles);
	if (style.summary && config->intervals)
		sink = intervals_open(sink, config->by, format == format_find("table"));
	else if (style.summary)
		sink = summary_open(sink, config->by, config->nkeys);
	else if (nkeys > 0)
		sink = largest_open(sink, nkeys);
	if (config->total && !style.summary)
		sink = total_open(sink);
	if (config->changed && !style.summary)
		sink = changed_open(sink);
	if (config->scope > SCOPE_CPU || shows_cpus)
		sink = aggregate_open(sink, config->scope, shows_cpus ? config->cpus : NULL);
	o->branch[WRITER].sink = sink;
	return 0;
}

static int add_record(struct output *o, const struct output_config *config)
{
	const struct style style = {0};

	if (config->record == NULL)
		return 0;
	if (add_file(o, config, config->record, false, format_find("json")) == -1)
		return -1;
	o->branch[RECORD].sink = json_open(file_of(&o->branch[RECORD]), &style);
	o->needs_comm = o->needs_cycles = true;
	return 0;
}

struct output *output_open(const struct output_config *config)
{
	static const struct sink_ops ops = {.begin = output_begin,
					    .row = output_row,
					    .sampled = output_sampled,
					    .ended = output_ended,
					    .end = output_end,
					    .free = output_free};
	struct output *o = sink_new(sizeof(*o), &ops, NULL);

	if (add_writer(o, config) == 0 && add_record(o, config) == 0)
		return o;
	output_close(o, false);
	return NULL;
}

struct sink *output_sink(struct output *o)
{
	return &o->sink;
}

bool output_needs_comm(const struct output *o)
{
	return o->needs_comm;
}

bool output_needs_cycles(const struct output *o)
{
	return o->needs_cycles;
}

int output_flush(struct output *o)
{
	int error = 0;

	for (size_t i = 0; i < o->n && error == 0; i++) {
		o->failed = o->branch[i].out.path;
		error = flush(&o->branch[i]);
	}
	return error;
}

/* A process without a terminal gets no hangup, as a service: logrotate and the like send SIGHUP. */
static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd != -1)
		close(fd);
	return fd != -1;
}

bool output_reopens(const struct output *o)
{
	const struct branch *writer = &o->branch[WRITER];

	if (o->listener == NULL && writer->out.replaced == NULL &&
	    (!outfile_is_regular(&writer->out) ||
	     sink_writer(writer->sink)->ops->next_file == NULL))
		return false;
	return !has_terminal();
}

static int reopen(struct branch *branch)
{
	struct sink *writer = sink_writer(branch->sink);
	struct outfile *out = &branch->out;
	int fd, error;

	/* Each flush finds a replaced file by its name. */
	if (!outfile_is_regular(out) || (fd = outfile_next(out)) == -1)
		return 0;
	/* See output_begin(): until then the file is empty. */
	if (branch->begun)
		writer->ops->next_file(writer, false);
	error = outfile_flush(out);
	outfile_change(out, fd);
	if (branch->begun)
		writer->ops->next_file(writer, true);
	return error != 0 ? error : outfile_flush(out);
}

int output_reopen(struct output *o)
{
	int error = 0;

	for (size_t i = 0; i < o->n && error == 0; i++) {
		o->failed = o->branch[i].out.path;
		error = reopen(&o->branch[i]);
	}
	return error;
}

bool output_is_behind(const struct output *o)
{
	bool is_behind = false;

	for (size_t i = 0; i < o->n; i++)
		is_behind |= o->branch[i].backlog.n > 0 && o->branch[i].backlog.error == 0;
	return is_behind;
}

enum screen_asks output_tend(const struct output *o, unsigned *wait_ms)
{
	enum screen_asks asks = o->screen != NULL ? o->screen->act() : SCREEN_NOTHING;
	unsigned listen_ms;

	/* A screen has keys, and a terminal that can be closed. */
	*wait_ms = !say_push() || o->screen != NULL ? BACKLOG_MS : 0;
	if (o->listener != NULL) {
		listen_ms = o->listener->tend(o->listener);
		if (listen_ms != 0 && (*wait_ms == 0 || listen_ms < *wait_ms))
			*wait_ms = listen_ms;
	}
	return asks;
}

enum scope output_unit(const struct output *o)
{
	return o->screen->unit();
}

int output_fd(const struct output *o)
{
	return o->listener != NULL ? o->listener->fd : -1;
}

void output_stop(const struct output *o)
{
	if (o->screen != NULL)
		o->screen->suspend();
	raise(SIGSTOP); /* until the shell continues the job */
	if (o->screen != NULL)
		o->screen->resume();
}

bool output_has_reader(const struct output *o)
{
	return o->screen == NULL && o->listener == NULL &&
	       outfile_has_reader(&o->branch[WRITER].out);
}

int output_poll(struct output *o)
{
	o->failed = o->branch[WRITER].out.path;
	return outfile_poll(&o->branch[WRITER].out);
}

int output_close(struct output *o, bool report)
{
	int error = 0;

	if (o->listener != NULL)
		o->listener->close(o->listener);
	for (size_t i = 0; i < o->n; i++) {
		int rc, closing = 0;

		sink_free(o->branch[i].sink); /* a sink can write its last rows when it is freed */
		o->branch[i].sink = NULL;
		rc = finish(&o->branch[i]);
		if (o->branch[i].out.file != NULL)
			closing = outfile_close(&o->branch[i].out);
		if (rc == 0)
			rc = closing;
		if (error != 0 || rc == 0)
			continue;
		error = rc;
		o->failed = o->branch[i].out.path;
	}
	if (report && error != 0 && error != EINTR)
		output_report(o, error);
	sink_free(&o->sink);
	return error;
}

void output_report(const struct output *o, int error)
{
	if (error != EPIPE)
		output_report_any(o, error);
}

void output_report_any(const struct output *o, int error)
{
	if (o->failed != NULL)
		say("cannot write '%s': %s", o->failed, strerror(error));
	else
		say("cannot write the standard output: %s", strerror(error));
}
