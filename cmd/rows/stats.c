/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.c - means of each event over several runs of a command, or of two.
 */
#include "stats.h"

#include "../base/say.h"
#include "../base/util.h"
#include "line.h"
#include "means.h"
#include "replay.h"
#include "sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The runs of a command. */
struct runs {
	size_t n;
	struct series *series;
	bool kernel, ptrace; /* some run was counted by this engine */
};

struct stats {
	struct sink sink;
	struct stats_config config;
	struct runs now, old;
	struct run about; /* the first run, without its events */
	const struct run *run;
	struct runs *side; /* the runs to which the current one belongs */
	struct sum *sum;   /* of the current run, by set */
	int64_t time_ns;
};

/* ---- runs ------------------------------------------------------------------------ */

static struct series *find_series(const struct runs *runs, const char *label, enum series_kind kind)
{
	for (size_t i = 0; i < runs->n; i++) {
		if (runs->series[i].kind == kind && strcmp(runs->series[i].label, label) == 0)
			return &runs->series[i];
	}
	return NULL;
}

/* Finds or adds a series; one without counts is in the table, too. */
static struct series *series_of(struct runs *runs, const char *label, enum series_kind kind,
				const char *unit)
{
	struct series *series = find_series(runs, label, kind);

	if (series == NULL) {
		runs->series = xrealloc(runs->series, (runs->n + 1) * sizeof(*runs->series));
		series = &runs->series[runs->n++];
		*series = (struct series){
			.label = xstrdup(label), .kind = kind, .unit = xstrdup(unit)};
	}
	return series;
}

/* The members that writers of means print. */
static struct run copy_about(const struct run *run)
{
	struct run about = {
		.tool = xstrdup(run->tool), .host = xstrdup(run->host), .start_ns = run->start_ns};
	size_t n = 0;

	while (run->argv[n] != NULL)
		n++;
	about.argv = xcalloc(n + 1, sizeof(*about.argv));
	for (size_t i = 0; i < n; i++)
		about.argv[i] = xstrdup(run->argv[i]);
	return about;
}

static void stats_begin(struct sink *sink, const struct run *run)
{
	struct stats *s = (struct stats *)sink;

	s->run = run;
	s->side = run->side == SIDE_OLD ? &s->old : &s->now;
	s->side->kernel |= run->engine != NULL && strcmp(run->engine, "kernel") == 0;
	s->side->ptrace |= run->engine != NULL && strcmp(run->engine, "ptrace") == 0;
	if (s->about.tool == NULL)
		s->about = copy_about(run);
	s->time_ns = 0;
	free(s->sum);
	s->sum = xcalloc(run->nsets, sizeof(*s->sum));
}

static void stats_row(struct sink *sink, const struct row *row)
{
	struct stats *s = (struct stats *)sink;

	s->time_ns = row->time_ns;
	if (row_is_program_total(row))
		sum_add(&s->sum[row->set], &s->run->set[row->set], row);
}

/* Adds the ratios of the sums of the run. */
static void add_ratios(struct stats *s, size_t k, bool turns)
{
	const struct sum *sum = &s->sum[k];
	const struct row row = {.set = k, .val = sum->val, .valid = sum->valid};

	for (unsigned i = 0; i < s->run->set[k].nratios; i++) {
		struct series *series =
			series_of(s->side, s->run->set[k].ratio[i].label, SERIES_RATIO, "ratio");
		double val = row_ratio(s->run, &row, i);

		series->incomplete |= sum->incomplete;
		series->turns |= turns && !isnan(val);
		series->missing |= isnan(val);
		if (!isnan(val))
			series_add(series, val);
	}
}

static void add_events(struct stats *s, size_t k, bool turns)
{
	const struct run_set *set = &s->run->set[k];
	const struct sum *sum = &s->sum[k];

	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *event = &set->event[i];
		const bool clock = line_is_clock(event) && *event->unit == '\0';
		struct series *series =
			series_of(s->side, event->label, SERIES_EVENT, clock ? "ns" : event->unit);
		bool valid = sum->valid >> i & 1;

		series->clock = clock;
		series->incomplete |= sum->incomplete;
		series->turns |= turns && valid;
		series->missing |= !valid;
		if (valid)
			series_add(series, count_real(event, sum->val[i]) * event->scale);
	}
}

/* Did more than one set count in this run? */
static bool took_turns(const struct stats *s)
{
	size_t n = 0;

	for (size_t k = 0; k < s->run->nsets; k++)
		n += s->sum[k].valid != 0;
	return n > 1;
}

static void stats_end(struct sink *sink)
{
	struct stats *s = (struct stats *)sink;
	bool turns = took_turns(s);

	if (s->run->cut)
		return;
	for (size_t k = 0; k < s->run->nsets; k++) {
		add_events(s, k, turns);
		add_ratios(s, k, turns);
	}
	series_add(series_of(s->side, "seconds", SERIES_TIME, "s"), (double)s->time_ns / NSEC);
}

/* ---- the end ----------------------------------------------------------------------- */

static bool is_compared(const struct stats *s)
{
	return s->config.pair || s->config.compare != NULL;
}

/* Checks an event against the limit. */
static void check_limit(struct limit *limit, const struct means_row *row)
{
	const struct comparison *c = &row->comparison;
	char grown[64] = "from 0";

	if (row->now->kind != SERIES_EVENT)
		return;
	if (c->reason != NULL) {
		limit->unknown = true;
		limit_note(limit, xasprintf("cannot tell whether %s grew by more than %g%%: %s",
					    row->now->label, 100 * limit->part, c->reason));
	}
	if (!c->above)
		return;
	limit->above = true;
	if (!isnan(c->change))
		snprintf(grown, sizeof(grown), "by %.2f%%", 100 * c->change);
	limit_note(limit, xasprintf("%s grew %s, above the limit of %g%%", row->now->label, grown,
				    100 * limit->part));
}

static void write_means(const struct stats *s)
{
	struct limit *limit = s->config.limit;
	struct means means = {
		.about = &s->about,
		.compared = is_compared(s),
		.limit = limit != NULL && limit->given ? limit->part : (double)NAN,
		.n = s->now.n,
		.row = xcalloc(s->now.n + 1, sizeof(*means.row)),
	};

	for (size_t i = 0; i < means.n; i++) {
		struct means_row *row = &means.row[i];

		row->now = &s->now.series[i];
		if (!means.compared)
			continue;
		row->old = find_series(&s->old, row->now->label, row->now->kind);
		row->comparison = series_compare(row->old, row->now, means.limit);
		if (!isnan(means.limit))
			check_limit(limit, row);
	}
	if (s->about.tool != NULL)
		s->config.format->means(s->config.file, &s->config.style, &means);
	if (!isnan(means.limit) && means.n == 0 && s->about.tool != NULL) {
		limit->unknown = true;
		limit_note(limit, xstrdup("cannot tell whether an event grew: no run is complete"));
	}
	free(means.row);
}

static const char *engines_of(const struct runs *runs)
{
	return runs->kernel && runs->ptrace ? "kernel and ptrace"
	       : runs->kernel		    ? "kernel"
					    : "ptrace";
}

/* The engines count context switches differently: the command may be unchanged. */
static void warn_about_engines(const struct stats *s)
{
	if ((s->now.kernel && s->old.ptrace) || (s->now.ptrace && s->old.kernel))
		say("the old runs were counted by engine %s, the new ones by %s: their context "
		    "switches differ",
		    engines_of(&s->old), engines_of(&s->now));
}

static void free_runs(struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		series_free(&runs->series[i]);
	free(runs->series);
	*runs = (struct runs){0};
}

static void stats_free(struct sink *sink)
{
	struct stats *s = (struct stats *)sink;

	if (s->config.file != NULL)
		write_means(s);
	if (s->config.file != NULL && is_compared(s))
		warn_about_engines(s);
	free_runs(&s->now);
	free_runs(&s->old);
	run_free(&s->about);
	free(s->sum);
	free(s);
}

static struct stats *new_stats(void)
{
	static const struct sink_ops ops = {
		.begin = stats_begin, .row = stats_row, .end = stats_end, .free = stats_free};
	struct stats *s = xcalloc(1, sizeof(*s));

	s->sink.ops = &ops;
	return s;
}

bool stats_check(const char *path, const char *where, const struct run *run, bool pair)
{
	if (pair && run->side == SIDE_NONE)
		say("%s:%s: cannot compare two commands: this run is of one command; "
		    "--compare=FILE compares with another record",
		    path, where);
	else if (!pair && run->side != SIDE_NONE)
		say("%s:%s: cannot compare with two commands: the record is of --compare; "
		    "-I shows it",
		    path, where);
	return pair == (run->side != SIDE_NONE);
}

static bool check_old(void *arg, const char *where, const struct run *run)
{
	return stats_check(arg, where, run, false);
}

static int no_flush(void *arg)
{
	(void)arg;
	return 0;
}

/* False after a message. */
static bool read_old(struct stats *s, char *path)
{
	const struct replay_config config = {.path = path,
					     .tool = "cputrack",
					     .check = check_old,
					     .flush = no_flush,
					     .arg = path};
	struct stats *old = new_stats();
	bool whole = replay(&config, &old->sink);

	s->old = old->now;
	old->now = (struct runs){0};
	stats_free(&old->sink);
	return whole;
}

struct sink *stats_open(const struct stats_config *config)
{
	struct stats *s = new_stats();
	char *path = copy_text(config->compare);
	bool failed = path != NULL && !read_old(s, path);

	free(path);
	if (failed) {
		stats_free(&s->sink);
		return NULL;
	}
	s->config = *config;
	return &s->sink;
}
