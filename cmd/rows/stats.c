/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stats.c - mean and deviation of each event over several runs of a command.
 *
 * Series of runs are compared by Welch's t-test, two-sided, at a level of 5 %.  It allows for
 * different variances and numbers of runs.
 */
#include "stats.h"

#include "../base/say.h"
#include "../base/util.h"
#include "replay.h"
#include "sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The counts of an event in each run, or the values of a ratio, or the times. */
struct series {
	char *label;
	int digits; /* after the point; different for events, ratios and times */
	size_t n;
	double *val;
	bool incomplete;
	bool turns; /* in some run it counted only a part of the time */
};

struct stats {
	struct sink sink;
	FILE *file; /* NULL: do not print; these runs are only compared with */
	struct style style;
	const struct run *run;
	size_t nseries;
	struct series *series;
	struct stats *before; /* the runs to compare with; or NULL */
	const char *path;     /* of the record of these runs */
	bool kernel, ptrace;  /* some run was counted by this engine */
	struct sum *sum;      /* of the current run, by set */
	int64_t time_ns;
};

/* ---- runs ------------------------------------------------------------------------ */

static struct series *find_series(const struct stats *s, const char *label, int digits)
{
	for (size_t i = 0; i < s->nseries; i++) {
		if (s->series[i].digits == digits && strcmp(s->series[i].label, label) == 0)
			return &s->series[i];
	}
	return NULL;
}

/* Finds or adds a series; one without counts is in the table, too. */
static struct series *series_of(struct stats *s, const char *label, int digits)
{
	struct series *series = find_series(s, label, digits);

	if (series == NULL) {
		s->series = xrealloc(s->series, (s->nseries + 1) * sizeof(*s->series));
		series = &s->series[s->nseries++];
		*series = (struct series){.label = xstrdup(label), .digits = digits};
	}
	return series;
}

static void add_value(struct series *series, double val, bool incomplete, bool turns)
{
	series->val = xrealloc(series->val, (series->n + 1) * sizeof(*series->val));
	series->val[series->n++] = val;
	series->incomplete |= incomplete;
	series->turns |= turns;
}

static void stats_begin(struct sink *sink, const struct run *run)
{
	struct stats *s = (struct stats *)sink;

	s->run = run;
	s->kernel |= run->engine != NULL && strcmp(run->engine, "kernel") == 0;
	s->ptrace |= run->engine != NULL && strcmp(run->engine, "ptrace") == 0;
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
		struct series *series = series_of(s, s->run->set[k].ratio[i].label, 4);
		double val = row_ratio(s->run, &row, i);

		if (!isnan(val))
			add_value(series, val, sum->incomplete, turns);
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
		const struct run_set *set = &s->run->set[k];
		const struct sum *sum = &s->sum[k];

		for (unsigned i = 0; i < set->nevents; i++) {
			const struct run_event *event = &set->event[i];
			struct series *series = series_of(s, event->label, 1);
			double val = count_real(event, sum->val[i]);

			if (sum->valid >> i & 1)
				add_value(series, val * event->scale, sum->incomplete, turns);
		}
		add_ratios(s, k, turns);
	}
	add_value(series_of(s, "seconds", 6), (double)s->time_ns / NSEC, false, false);
}

/* ---- statistics -------------------------------------------------------------------- */

static double mean(const struct series *series)
{
	double sum = 0;

	for (size_t i = 0; i < series->n; i++)
		sum += series->val[i];
	return sum / (double)series->n;
}

/* The variance of a sample, which divides by n - 1. */
static double variance(const struct series *series)
{
	double m = mean(series), sum = 0;

	for (size_t i = 0; i < series->n; i++)
		sum += (series->val[i] - m) * (series->val[i] - m);
	return series->n > 1 ? sum / (double)(series->n - 1) : 0;
}

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The 97.5 % quantile of Student's t, of the next lower number of degrees in the table. */
static double student(double degrees)
{
	static const struct {
		double degrees, t;
	} table[] = {
		{1, 12.706}, {2, 4.303},   {3, 3.182},	  {4, 2.776},  {5, 2.571},  {6, 2.447},
		{7, 2.365},  {8, 2.306},   {9, 2.262},	  {10, 2.228}, {12, 2.179}, {14, 2.145},
		{16, 2.120}, {18, 2.101},  {20, 2.086},	  {25, 2.060}, {30, 2.042}, {40, 2.021},
		{60, 2.000}, {120, 1.980}, {1000, 1.962},
	};
	size_t i = 0;

	while (i + 1 < sizeof(table) / sizeof(*table) && table[i + 1].degrees <= degrees)
		i++;
	return table[i].t;
}

/* Welch's t, and the limit beyond which the series differ.  False: too few runs. */
static bool welch(const struct series *a, const struct series *b, double *t, double *limit)
{
	double na = (double)a->n, nb = (double)b->n;
	double va = variance(a) / na, vb = variance(b) / nb, difference = mean(a) - mean(b);

	if (a->n < 2 || b->n < 2)
		return false;
	if (va + vb == 0) {
		*t = difference == 0 ? 0 : (double)INFINITY;
		*limit = student(1);
		return true;
	}
	*t = fabs(difference) / sqrt(va + vb);
	*limit = student((va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1)));
	return true;
}

/* ---- the table ----------------------------------------------------------------------- */

static void print_comparison(FILE *f, const struct series *now, const struct series *before)
{
	double t, limit, was;

	if (before == NULL || before->n == 0) {
		fprintf(f, " %15s %7s  not counted before", "-", "-");
		return;
	}
	was = mean(before);
	fprintf(f, " %15.*f", now->digits, was);
	if (was != 0 && now->n > 0)
		fprintf(f, " %7.3f", mean(now) / was);
	else
		fprintf(f, " %7s", "-");
	if (now->n == 0)
		fprintf(f, "  not counted now");
	else if (!welch(now, before, &t, &limit))
		fprintf(f, "  unknown: requires 2 runs of each");
	else if (t > limit)
		fprintf(f, "  differs (t %.2f > %.2f)", t, limit);
	else
		fprintf(f, "  noise (t %.2f <= %.2f)", t, limit);
}

/* Without counts there is no mean, with one run no deviation. */
static void print_series(FILE *f, const struct series *series)
{
	double m = mean(series), deviation = sqrt(variance(series));
	int n = series->digits;
	char label[256];

	escape_text(label, sizeof(label), series->label, ESCAPE_WORD);
	fprintf(f, "%20s %5zu", label, series->n);
	if (series->n == 0) {
		fprintf(f, " %15s %13s %7s %15s %15s", "-", "-", "-", "-", "-");
		return;
	}
	qsort(series->val, series->n, sizeof(*series->val), compare_values);
	fprintf(f, " %15.*f", n, m);
	if (series->n > 1)
		fprintf(f, " %13.*f %7.2f", n, deviation, m != 0 ? fabs(100 * deviation / m) : 0);
	else
		fprintf(f, " %13s %7s", "-", "-");
	fprintf(f, " %15.*f %15.*f", n, series->val[0], n, series->val[series->n - 1]);
}

static void print(const struct stats *s)
{
	FILE *f = s->file;

	if (s->nseries > 0 && !s->style.no_header) {
		fprintf(f, "%20s %5s %15s %13s %7s %15s %15s", "event", "runs", "mean", "deviation",
			"%", "least", "most");
		fprintf(f, s->before != NULL ? " %15s %7s\n" : "\n", "before", "ratio");
	}
	for (size_t i = 0; i < s->nseries; i++) {
		const struct series *series = &s->series[i];

		print_series(f, series);
		if (s->before != NULL)
			print_comparison(f, series,
					 find_series(s->before, series->label, series->digits));
		fputs(series->turns ? " # in turns" : "", f);
		fputs(series->incomplete ? " # incomplete\n" : "\n", f);
	}
}

static const char *engines_of(const struct stats *s)
{
	return s->kernel && s->ptrace ? "kernel and ptrace" : s->kernel ? "kernel" : "ptrace";
}

/* The engines count context switches differently: the command may be unchanged. */
static void warn_about_engines(const struct stats *s)
{
	const struct stats *before = s->before;

	if ((s->kernel && before->ptrace) || (s->ptrace && before->kernel))
		say("'%s' was counted by engine %s, these runs by %s: their context switches differ",
		    s->path, engines_of(before), engines_of(s));
}

static void stats_free(struct sink *sink)
{
	struct stats *s = (struct stats *)sink;

	if (s->file != NULL)
		print(s);
	if (s->file != NULL && s->before != NULL)
		warn_about_engines(s);
	if (s->before != NULL)
		stats_free(&s->before->sink);
	for (size_t i = 0; i < s->nseries; i++) {
		free(s->series[i].label);
		free(s->series[i].val);
	}
	free(s->series);
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

static bool any_run(void *arg, const char *where, const struct run *run)
{
	(void)arg, (void)where, (void)run;
	return true;
}

static int no_flush(void *arg)
{
	(void)arg;
	return 0;
}

struct sink *stats_open(FILE *file, const struct style *style, const char *compare)
{
	const struct replay_config config = {
		.path = compare, .tool = "cputrack", .check = any_run, .flush = no_flush};
	struct stats *s = new_stats();

	if (compare != NULL) {
		s->before = new_stats();
		s->path = compare;
		if (!replay(&config, &s->before->sink)) {
			stats_free(&s->sink);
			return NULL;
		}
	}
	s->file = file;
	s->style = *style;
	return &s->sink;
}
