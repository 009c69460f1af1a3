/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * summary_table.c - the table of a summary: a line for each LWP, process, command or CPU, with all
 * sets side by side.  It is printed at the end, when the widths of all columns are known.
 */
#include "../base/util.h"
#include "line.h"

#include <stdlib.h>
#include <string.h>

struct summary_table {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	struct cells cells;
	bool shared;   /* some line has a share: the total is not 0 */
	uint64_t late; /* of the sets of this line */
	bool more;     /* print an empty line before the next summary */
	struct line line;
};

/* ---- cells ----------------------------------------------------------------------- */

static void put_cell(struct summary_table *s, const char *text)
{
	cells_add(&s->cells, xstrdup(text));
}

/* Makes s->line the next cell. */
static void end_cell(struct summary_table *s)
{
	cells_add(&s->cells, xasprintf("%.*s", (int)s->line.n, s->line.text));
	s->line.n = 0;
}

static void put_number(struct summary_table *s, uint64_t val)
{
	line_number(&s->line, val, false, 0);
	end_cell(s);
}

/* ---- columns ----------------------------------------------------------------------- */

static bool has_pid(const struct run *run)
{
	return run->by == SCOPE_LWP || run->by == SCOPE_PROCESS;
}

static void put_event_titles(struct summary_table *s, const struct run_set *set)
{
	if (s->style.cycles)
		put_cell(s, s->run->cycles);
	for (unsigned i = 0; i < set->nevents; i++) {
		line_title(&s->line, &s->style, set->event[i].label, 0);
		end_cell(s);
	}
	for (unsigned i = 0; i < set->nratios; i++) {
		line_label(&s->line, set->ratio[i].label, 0);
		end_cell(s);
	}
}

static void summary_table_begin(struct sink *sink, const struct run *run)
{
	struct summary_table *s = (struct summary_table *)sink;

	cells_free(&s->cells);
	s->run = run;
	s->shared = false;
	if (run->interval)
		put_cell(s, "time");
	if (run->by == SCOPE_CPU)
		put_cell(s, run->scope == SCOPE_ALL ? "cpu" : scope_name(run->scope));
	if (has_pid(run))
		put_cell(s, "pid");
	if (run->by == SCOPE_LWP)
		put_cell(s, s->style.tids ? "tid" : "lwp");
	if (run->by == SCOPE_PROCESS)
		put_cell(s, "lwps");
	if (scope_is_owner(run->by))
		put_cell(s, scope_name(run->by));
	if (scope_has_keys(run->by))
		put_cell(s, "runs");
	if (run->by != SCOPE_CPU && !scope_is_owner(run->by))
		put_cell(s, "comm");
	put_event_titles(s, &run->set[0]);
	put_cell(s, "share");
	for (size_t k = 1; k < run->nsets; k++)
		put_event_titles(s, &run->set[k]);
	put_cell(s, ""); /* no note */
	s->cells.ncolumns = s->cells.n;
	if (s->style.no_header)
		cells_free(&s->cells);
}

static void put_key(struct summary_table *s, const struct row *row)
{
	size_t width = 0;

	line_key(&s->line, row, &width);
	end_cell(s);
}

static void put_cpu(struct summary_table *s, const struct row *row)
{
	if (row->kind == ROW_TOTAL)
		put_cell(s, "total");
	else if (row->key != NULL)
		put_key(s, row);
	else if (row->scope == SCOPE_ALL)
		put_cell(s, scope_name(SCOPE_ALL));
	else
		put_number(s, (uint64_t)row->id);
}

static void put_id(struct summary_table *s, const struct row *row)
{
	enum scope by = s->run->by;
	bool total = row->kind == ROW_TOTAL;

	if (has_pid(s->run) && total)
		put_cell(s, "-");
	else if (has_pid(s->run))
		put_number(s, (uint64_t)row->pid);
	if (scope_is_owner(by) && total)
		put_cell(s, "total");
	else if (scope_is_owner(by))
		put_key(s, row);
	if (by == SCOPE_LWP && total)
		put_cell(s, "-");
	else if (by == SCOPE_LWP)
		put_number(s, (uint64_t)(s->style.tids ? row->tid : row->lwp));
	else
		put_number(s, row->runs);
	if (scope_is_owner(by))
		return;
	line_comm(&s->line, total ? "total" : row->comm, 0);
	end_cell(s);
}

static void put_share(struct summary_table *s, const struct row *row)
{
	char text[32] = "-";

	s->shared |= row->shared;
	if (row->kind == ROW_TOTAL && s->shared)
		snprintf(text, sizeof(text), "100.0%%");
	else if (row->shared)
		snprintf(text, sizeof(text), "%.1f%%", row->share * 100);
	put_cell(s, text);
}

static void put_note(struct summary_table *s, const struct row *row)
{
	char text[64] = "";

	if (row->incomplete)
		strcpy(text, "# incomplete");
	if (s->late > 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s# late %llu",
			 row->incomplete ? " " : "", (unsigned long long)s->late);
	put_cell(s, text);
	s->late = 0;
}

/* The rows of an LWP, process, command or CPU, one per set, follow each other. */
static void summary_table_row(struct sink *sink, const struct row *row)
{
	struct summary_table *s = (struct summary_table *)sink;
	const struct run_set *set = &s->run->set[row->set];

	if (row->kind != ROW_SUM && row->kind != ROW_TOTAL)
		return;
	if (row->set == 0 && s->run->interval) {
		line_time(&s->line, row->time_ns);
		end_cell(s);
	}
	if (row->set == 0 && s->run->by == SCOPE_CPU)
		put_cpu(s, row);
	else if (row->set == 0)
		put_id(s, row);
	if (s->style.cycles) {
		line_cycles(&s->line, &s->style, row, 0);
		end_cell(s);
	}
	for (unsigned i = 0; i < set->nevents; i++) {
		line_count(&s->line, &s->style, s->run, row, i, 0);
		end_cell(s);
	}
	for (unsigned i = 0; i < set->nratios; i++) {
		line_ratio(&s->line, s->run, row, i, 0);
		end_cell(s);
	}
	if (row->set == 0)
		put_share(s, row);
	s->late += row->late;
	if (row->set + 1 == s->run->nsets)
		put_note(s, row);
}

static void summary_table_end(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;

	if (s->more)
		fputc('\n', s->file);
	s->more = s->run->interval;
	cells_write(&s->cells, s->file);
}

static void summary_table_free(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;

	cells_free(&s->cells);
	line_free(&s->line);
}

struct sink *summary_table_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = summary_table_begin,
					    .row = summary_table_row,
					    .end = summary_table_end,
					    .free = summary_table_free};
	struct summary_table *s = sink_new(sizeof(*s), &ops, NULL);

	s->file = file;
	s->style = *style;
	return &s->sink;
}
