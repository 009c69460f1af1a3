/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * csv.c - comma-separated values, one line per count.  Quotes are those of RFC 4180; lines end
 * with LF, since awk would treat a CR as a part of the last field.
 *
 * The lines of all events and sets have the same columns.  So files of several runs can be
 * concatenated and imported into one table.  awk -F, finds the columns before those whose fields
 * can need quotes.  Scripts may find columns by their places: new ones are the last.
 */
#include "../base/utf8.h"
#include "../base/util.h"
#include "means.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct csv {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
};

static const char header[] = "time,seconds,kind,pid,lwp,tid,cpu,cpus,count,scale,incomplete,"
			     "status,signal,child,runs,share,unit,event,spec,comm,command,"
			     "key,container_id,pod_id,key_kind,late,host";

static void csv_begin(struct sink *sink, const struct run *run)
{
	struct csv *csv = (struct csv *)sink;

	csv->run = run;
	if (!csv->style.no_header)
		fprintf(csv->file, "%s\n", header);
}

static void csv_next_file(struct sink *sink, bool begins)
{
	const struct csv *csv = (const struct csv *)sink;

	if (begins)
		csv_begin(sink, csv->run);
}

/* A row is one line, also for awk(1).  Text is quoted if necessary. */
static void put_text(FILE *f, const char *text)
{
	char *word = utf8_clean(text, '\0');
	bool quotes = strpbrk(word, "\",") != NULL;

	if (quotes)
		fputc('"', f);
	for (const char *c = word; *c != '\0'; c++) {
		if (*c == '"')
			fputc('"', f);
		fputc(*c, f);
	}
	if (quotes)
		fputc('"', f);
	free(word);
}

static void put_number(const struct csv *csv, bool known, int64_t val)
{
	if (known)
		fprintf(csv->file, "%" PRId64, val);
	fputc(',', csv->file);
}

static void put_cpu(const struct csv *csv, const struct row *row)
{
	if (row->key != NULL)
		; /* the key has a column of its own */
	else if (csv->run->of_cpus && row->scope == SCOPE_CPU)
		fprintf(csv->file, "%d", row->id);
	else if (csv->run->of_cpus && row->scope == SCOPE_ALL)
		fputs(scope_name(SCOPE_ALL), csv->file);
	else if (csv->run->of_cpus)
		fprintf(csv->file, "%s%d", scope_name(row->scope), row->id);
	fputc(',', csv->file);
}

static const char *unit_of(const struct run_event *event)
{
	return run_event_is_clock(event) ? "ns" : event->unit;
}

/* `event` NULL: the row has no counts; `count` "": unknown. */
static void put_line(const struct csv *csv, const struct row *row, const struct run_event *event,
		     const char *count)
{
	bool killed = row->ended && WIFSIGNALED(row->status);
	const char *const texts[] = {event != NULL ? unit_of(event) : NULL,
				     event != NULL ? event->label : NULL,
				     event != NULL ? csv->run->set[row->set].spec : NULL,
				     row->comm,
				     row->command,
				     row->key_kind == KEY_NAME ? row->key : NULL,
				     row->container,
				     row->pod};
	char time[ISO_TIME_SIZE];
	FILE *f = csv->file;

	iso_time(time, row->wall_ns);
	fprintf(f, "%s,%" PRId64 ".%09d,%s,", time, (int64_t)(row->time_ns / NSEC),
		(int)(row->time_ns % NSEC), row_kind_name(row->kind));
	put_number(csv, row->pid > 0, row->pid);
	put_number(csv, row->lwp > 0, row->lwp);
	put_number(csv, row->tid > 0, row->tid);
	put_cpu(csv, row);
	put_number(csv, csv->run->of_cpus, row->ncpus);
	fputs(count, f);
	if (event != NULL)
		fprintf(f, ",%.17g,", event->scale);
	else
		fputs(",,", f);
	put_number(csv, true, row->incomplete);
	put_number(csv, row->ended && !killed, WEXITSTATUS(row->status));
	put_number(csv, killed, WTERMSIG(row->status));
	put_number(csv, row->kind == ROW_FORK, row->child);
	put_number(csv, row->runs > 0, (int64_t)row->runs);
	if (row->shared)
		fprintf(f, "%.6f", row->share);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		fputc(',', f);
		if (texts[i] != NULL)
			put_text(f, texts[i]);
	}
	fprintf(f, ",%s,", row->key != NULL ? key_kind_name(row->key_kind) : "");
	if (row->key != NULL && csv->run->of_cpus)
		fprintf(f, "%" PRIu64, row->late);
	fputc(',', f);
	put_text(f, csv->run->host);
	fputc('\n', f);
}

static void put_count(const struct csv *csv, const struct row *row, const struct run_event *event,
		      bool known, uint64_t val)
{
	char text[32] = "";

	if (known)
		snprintf(text, sizeof(text), event->is_signed ? "%" PRId64 : "%" PRIu64, val);
	put_line(csv, row, event, text);
}

static void put_ratio(const struct csv *csv, const struct row *row, unsigned i)
{
	char unit[] = "ratio", text[32] = "";
	const struct run_event event = {
		.label = csv->run->set[row->set].ratio[i].label, .unit = unit, .scale = 1};
	double val = row_ratio(csv->run, row, i);

	if (!isnan(val))
		snprintf(text, sizeof(text), RATIO_FORMAT, val);
	put_line(csv, row, &event, text);
}

static void csv_row(struct sink *sink, const struct row *row)
{
	const struct csv *csv = (const struct csv *)sink;
	const struct run_set *set = &csv->run->set[row->set];
	char unit[] = "";
	struct run_event cycles = {
		.name = csv->run->cycles, .label = csv->run->cycles, .unit = unit, .scale = 1};

	if (row->val == NULL) {
		put_line(csv, row, NULL, "");
		return;
	}
	if (csv->style.cycles)
		put_count(csv, row, &cycles, row->valid != 0, row->cycles);
	for (unsigned i = 0; i < set->nevents; i++)
		put_count(csv, row, &set->event[i], row->valid >> i & 1, row->val[i]);
	for (unsigned i = 0; i < set->nratios; i++)
		put_ratio(csv, row, i);
}

struct sink *csv_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {
		.begin = csv_begin, .row = csv_row, .next_file = csv_next_file};
	struct csv *csv = sink_new(sizeof(*csv), &ops, NULL);

	csv->file = file;
	csv->style = *style;
	return &csv->sink;
}

/* ---- means --------------------------------------------------------------------- */

static const char means_header[] =
	"event,unit,runs,mean,deviation,least,most,incomplete,turns,"
	"old_runs,old_mean,old_deviation,old_least,old_most,change,verdict,reason,above,"
	"median,outliers,old_median,old_outliers,median_change,p,host";

static void put_real(FILE *f, double val)
{
	char text[REAL_SIZE] = "";

	if (isfinite(val))
		real_text(text, val);
	fprintf(f, ",%s", text);
}

static void put_series(FILE *f, const struct series *series)
{
	fprintf(f, ",%zu", series->n);
	put_real(f, series_mean(series));
	put_real(f, series_deviation(series));
	put_real(f, series_least(series));
	put_real(f, series_most(series));
}

static void put_robust(FILE *f, const struct series *series)
{
	put_real(f, series_median(series));
	fprintf(f, ",%zu", series_outliers(series));
}

void means_csv(FILE *f, const struct style *style, const struct means *means)
{
	if (!style->no_header)
		fprintf(f, "%s\n", means_header);
	for (size_t i = 0; i < means->n; i++) {
		const struct means_row *row = &means->row[i];
		const struct comparison *c = &row->comparison;
		const char *reason = c->reason != NULL ? c->reason : "";

		put_text(f, row->now->label);
		fputc(',', f);
		put_text(f, row->now->unit);
		put_series(f, row->now);
		fprintf(f, ",%d,%d", row->now->incomplete, row->now->turns);
		if (!means->compared) {
			fputs(",,,,,,,,,", f);
			put_robust(f, row->now);
			fputs(",,,,,", f);
			put_text(f, means->about->host);
			fputc('\n', f);
			continue;
		}
		put_series(f, row->old);
		put_real(f, c->change);
		fprintf(f, ",%s,%s,%s", verdict_name(c->verdict), reason,
			isnan(means->limit) ? ""
			: c->above	    ? "1"
					    : "0");
		put_robust(f, row->now);
		put_robust(f, row->old);
		put_real(f, c->median_change);
		put_real(f, c->p);
		fputc(',', f);
		put_text(f, means->about->host);
		fputc('\n', f);
	}
}
