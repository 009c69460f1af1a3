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
#include "outfile.h"
#include "output.h"
#include "replay.h"
#include "sum.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The runs of a command. */
struct runs {
	size_t n;
	struct series *series;
	bool kernel, ptrace; /* some run was counted by this engine */
	struct ends ends;
};

struct stats {
	struct sink sink;
	struct outfile *out; /* NULL: the runs of config.compare are read */
	FILE *file;	     /* of `out`, or what keeps its text for a reader */
	const struct format *format;
	struct style style;
	struct output_config config;
	struct runs now, old;
	struct run about; /* the first new run, without its events */
	const struct run *run;
	struct runs *side; /* the runs to which the current one belongs */
	struct sum *sum;   /* of the current run, by set */
	int64_t time_ns;
};

/* ---- the limit -------------------------------------------------------------------- */

bool limit_parse(struct limit *limit, const char *text)
{
	char *end = NULL;
	double percent = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;

	if (end == NULL || (*end != '\0' && strcmp(end, "%") != 0) || !(percent <= 1e6)) {
		say("invalid --fail-above '%s': expected per cent from 0 to 1000000, such as 3%%",
		    text);
		return false;
	}
	limit->given = true;
	limit->part = percent / 100;
	return true;
}

int limit_status(const struct limit *limit, int status)
{
	if (status != STATUS_OK)
		return status;
	if (limit->failed)
		return STATUS_COMMAND_FAILED;
	return limit->above ? STATUS_ABOVE : limit->unknown ? STATUS_FAILED : STATUS_OK;
}

/* ---- commands that fail ------------------------------------------------------------- */

void ends_note(struct ends *ends, int wstatus)
{
	ends->n++;
	if (wstatus == 0)
		return;
	if (ends->failed++ == 0)
		ends->wstatus = wstatus;
	else
		ends->differs |= ends->wstatus != wstatus;
}

bool ends_report(const struct ends *ends, const char *whose)
{
	const char *first = ends->differs ? "first with " : "";

	if (ends->failed == 0)
		return false;
	if (WIFSIGNALED(ends->wstatus))
		say("%s failed in %u of %u run%s: %ssignal %d, %s", whose, ends->failed, ends->n,
		    ends->n == 1 ? "" : "s", first, WTERMSIG(ends->wstatus),
		    strsignal(WTERMSIG(ends->wstatus)));
	else
		say("%s failed in %u of %u run%s: %sexit status %d", whose, ends->failed, ends->n,
		    ends->n == 1 ? "" : "s", first, WEXITSTATUS(ends->wstatus));
	return true;
}

/* ---- runs ------------------------------------------------------------------------ */

static struct series *find_series(const struct runs *runs, const char *label, enum series_kind kind)
{
	for (size_t i = 0; i < runs->n; i++) {
		if (runs->series[i].kind == kind && strcmp(runs->series[i].label, label) == 0)
			return &runs->series[i];
	}
	return NULL;
}

/* Finds or adds a series.  Events without counts have one, too. */
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
	return (struct run){.tool = xstrdup(run->tool),
			    .argv = run_copy_argv(run->argv),
			    .host = xstrdup(run->host),
			    .start_ns = run->start_ns};
}

static void stats_begin(struct sink *sink, const struct run *run)
{
	struct stats *s = (struct stats *)sink;

	s->run = run;
	s->side = s->out == NULL || run->side == SIDE_OLD ? &s->old : &s->now;
	s->side->kernel |= run->engine != NULL && strcmp(run->engine, "kernel") == 0;
	s->side->ptrace |= run->engine != NULL && strcmp(run->engine, "ptrace") == 0;
	if (s->out != NULL && s->about.tool == NULL)
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

/* Adds the run's value of a series, of the set of `sum`; NaN: it is unknown. */
static void add_value(struct series *series, const struct sum *sum, bool turns, double val)
{
	series->incomplete |= sum->incomplete;
	series->turns |= turns && !isnan(val);
	series->missing |= isnan(val);
	if (!isnan(val))
		series_add(series, val);
}

/* Adds the ratios of the sums of the run. */
static void add_ratios(struct stats *s, size_t k, bool turns)
{
	const struct sum *sum = &s->sum[k];
	const struct row row = {.set = k, .val = sum->val, .valid = sum->valid};

	for (unsigned i = 0; i < s->run->set[k].nratios; i++)
		add_value(series_of(s->side, s->run->set[k].ratio[i].label, SERIES_RATIO, "ratio"),
			  sum, turns, row_ratio(s->run, &row, i));
}

static void add_events(struct stats *s, size_t k, bool turns)
{
	const struct run_set *set = &s->run->set[k];
	const struct sum *sum = &s->sum[k];

	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *event = &set->event[i];
		const bool clock = run_event_is_clock(event);
		struct series *series =
			series_of(s->side, event->label, SERIES_EVENT, clock ? "ns" : event->unit);

		series->clock = clock;
		add_value(series, sum, turns,
			  sum->valid >> i & 1 ? count_real(event, sum->val[i]) * event->scale
					      : (double)NAN);
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
	if (s->run->ended)
		ends_note(&s->side->ends, s->run->status);
	for (size_t k = 0; k < s->run->nsets; k++) {
		s->sum[k].incomplete |= s->run->incomplete;
		add_events(s, k, turns);
		add_ratios(s, k, turns);
	}
	series_add(series_of(s->side, "seconds", SERIES_TIME, "s"), (double)s->time_ns / NSEC);
}

/* ---- the end ----------------------------------------------------------------------- */

/* Checks an event against the limit. */
static void check_event(struct limit *limit, const struct means_row *row)
{
	const struct comparison *c = &row->comparison;
	char grown[64] = "from 0";

	if (row->now->kind != SERIES_EVENT)
		return;
	if (c->reason != NULL) {
		limit->unknown = true;
		say("cannot tell whether %s grew by more than %g%%: %s", row->now->label,
		    100 * limit->part, c->reason);
	}
	if (!c->above)
		return;
	limit->above = true;
	if (!isnan(c->grown))
		snprintf(grown, sizeof(grown), "by %.2f%%", 100 * c->grown);
	say("%s grew %s, above the limit of %g%%", row->now->label, grown, 100 * limit->part);
}

static void check_limit(struct limit *limit, const struct means *means)
{
	for (size_t i = 0; i < means->n; i++)
		check_event(limit, &means->row[i]);
	if (means->n == 0) {
		limit->unknown = true;
		say("cannot tell whether an event grew: no run is complete");
	}
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

/* cmd/cputrack/run.c reports those that it runs; some of them have no rows here. */
static void report_failures(const struct stats *s)
{
	const char *now = s->config.replay, *old = s->config.pair ? now : s->config.compare;
	char *whose;

	if (old != NULL) {
		whose = xasprintf("the %scommand of '%s'", s->config.pair ? "old " : "", old);
		s->config.limit->failed |= ends_report(&s->old.ends, whose);
		free(whose);
	}
	if (now != NULL) {
		whose = xasprintf("the %scommand of '%s'", s->config.pair ? "new " : "", now);
		s->config.limit->failed |= ends_report(&s->now.ends, whose);
		free(whose);
	}
}

static void write_means(const struct stats *s)
{
	static const struct series none;
	struct limit *limit = s->config.limit;
	struct means means = {
		.about = &s->about,
		.compared = s->config.pair || s->config.compare != NULL,
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
		if (row->old == NULL)
			row->old = &none;
		row->comparison = series_compare(row->old, row->now, means.limit);
	}
	s->format->means(s->file, &s->style, &means);
	/* Before messages; output_close() finds the error again. */
	if (s->file == s->out->file)
		outfile_flush(s->out);
	else
		fflush(s->file);
	if (means.compared)
		warn_about_engines(s);
	if (limit != NULL)
		report_failures(s);
	if (!isnan(means.limit))
		check_limit(limit, &means);
	free(means.row);
}

static void free_runs(struct runs *runs)
{
	for (size_t i = 0; i < runs->n; i++)
		series_free(&runs->series[i]);
	free(runs->series);
}

static void stats_free(struct sink *sink)
{
	struct stats *s = (struct stats *)sink;

	if (s->about.tool != NULL)
		write_means(s);
	free_runs(&s->now);
	free_runs(&s->old);
	run_free(&s->about);
	free(s->sum);
}

const char *stats_obstacle(const struct run *run, bool pair)
{
	if (pair && run->side == SIDE_NONE)
		return "cannot compare two commands: this run is of one command; "
		       "--compare=FILE compares with another record";
	if (!pair && run->side != SIDE_NONE)
		return "cannot compare with two commands: the record is of --compare; "
		       "-I shows it";
	return NULL;
}

static char *check_old(void *arg, const struct run *run)
{
	(void)arg;
	return copy_text(stats_obstacle(run, false));
}

struct sink *stats_open(struct outfile *out, FILE *file, const struct format *format,
			const struct style *style, const struct output_config *config)
{
	static const struct sink_ops ops = {
		.begin = stats_begin, .row = stats_row, .end = stats_end, .free = stats_free};
	const struct replay_config old = {
		.path = config->compare, .tool = "cputrack", .check = check_old};
	struct stats *s = sink_new(sizeof(*s), &ops, NULL);

	s->format = format;
	s->style = *style;
	s->config = *config;
	if (config->compare != NULL && !replay(&old, &s->sink)) {
		sink_free(&s->sink);
		return NULL;
	}
	s->out = out;
	s->file = file;
	return &s->sink;
}
