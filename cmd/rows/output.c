/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * output.c - the sink of a run: filters, a writer, and a record.
 */
#include "output.h"

#include "../base/say.h"
#include "../base/util.h"
#include "filters.h"
#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (1 << 16)

enum { WRITER, RECORD, NBRANCHES };

struct output {
	struct sink sink; /* passes the run to all branches */
	size_t n;
	struct {
		struct outfile out;
		struct sink *sink;
	} branch[NBRANCHES];
	const char *failed; /* path of the file with the write error; NULL: standard output */
	bool needs_comm, needs_cycles;
};

static void output_begin(struct sink *sink, const struct run *run)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++) {
		outfile_begin(&o->branch[i].out);
		/* A record can have several runs: append the following ones. */
		o->branch[i].out.append = true;
		sink_begin(o->branch[i].sink, run);
	}
}

static void output_row(struct sink *sink, const struct row *row)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_row(o->branch[i].sink, row);
}

static void output_sampled(struct sink *sink)
{
	struct output *o = (struct output *)sink;

	for (size_t i = 0; i < o->n; i++)
		sink_sampled(o->branch[i].sink);
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

/* Opens the file of the next branch.  If it is `renewed`, each flush replaces the file. */
static int add_file(struct output *o, const char *path, bool append, bool by_line, bool renewed)
{
	struct outfile *out = &o->branch[o->n].out;
	int rc = renewed && path != NULL ? outfile_open_replaced(out, path)
					 : outfile_open(out, path, append);

	if (rc == -1)
		return -1;
	o->n++;
	if (out->replaced == NULL && (!by_line || !isatty(fileno(out->file))))
		outfile_buffer(out, BUFFER_SIZE);
	return 0;
}

static int add_writer(struct output *o, const struct output_config *config)
{
	const struct format *format =
		config->format != NULL ? config->format : format_find("table");
	unsigned nkeys = config->nkeys > 0 ? config->nkeys : format->nkeys;
	struct style style = config->style;
	struct sink *sink;
	FILE *file;

	if (add_file(o, config->path, config->append, config->by_line, format->renewed) == -1)
		return -1;
	file = o->branch[WRITER].out.file;
	style.replaced = o->branch[WRITER].out.replaced != NULL;
	style.terminal = !style.replaced && isatty(fileno(file));
	style.names |= style.terminal;
	style.summary = config->by != SCOPE_NONE;
	o->needs_comm |= format->comm || style.comm || style.summary;
	o->needs_cycles |= format->cycles || style.cycles;
	if (config->stats)
		sink = stats_open(&o->branch[WRITER].out, format, &style, config);
	else
		sink = format->open(file, &style);
	if (sink == NULL)
		return -1;
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
	if (config->scope > SCOPE_CPU || config->cpus != NULL)
		sink = aggregate_open(sink, config->scope, config->cpus);
	o->branch[WRITER].sink = sink;
	return 0;
}

static int add_record(struct output *o, const struct output_config *config)
{
	const struct style style = {0};

	if (config->record == NULL)
		return 0;
	if (add_file(o, config->record, config->append, false, false) == -1)
		return -1;
	o->branch[RECORD].sink = json_open(o->branch[RECORD].out.file, &style);
	o->needs_comm = o->needs_cycles = true;
	return 0;
}

struct output *output_open(const struct output_config *config)
{
	static const struct sink_ops ops = {.begin = output_begin,
					    .row = output_row,
					    .sampled = output_sampled,
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
		error = outfile_flush(&o->branch[i].out);
	}
	return error;
}

bool output_has_reader(const struct output *o)
{
	return outfile_has_reader(&o->branch[WRITER].out);
}

int output_poll(struct output *o)
{
	o->failed = o->branch[WRITER].out.path;
	return outfile_poll(&o->branch[WRITER].out);
}

int output_close(struct output *o, bool report)
{
	int error = 0;

	for (size_t i = 0; i < o->n; i++) {
		int rc;

		sink_free(o->branch[i].sink); /* a sink can write its last rows when it is freed */
		o->branch[i].sink = NULL;
		rc = outfile_close(&o->branch[i].out);
		if (error != 0 || rc == 0)
			continue;
		error = rc;
		o->failed = o->branch[i].out.path;
	}
	if (report && error != 0)
		output_report(o, error);
	sink_free(&o->sink);
	return error;
}

void output_report(const struct output *o, int error)
{
	if (error == EPIPE)
		return;
	if (o->failed != NULL)
		say("cannot write '%s': %s", o->failed, strerror(error));
	else
		say("cannot write: %s", strerror(error));
}
