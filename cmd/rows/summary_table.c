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
	size_t ncols, nlines, size;
	char ***cell;  /* by line and column; the first line is the header */
	char **note;   /* by line: "# incomplete", or NULL */
	size_t column; /* index of the next cell of the last line */
	bool shared;   /* some line has a share: the total is not 0 */
	bool more;     /* an empty line is before the next summary */
	struct line line;
};

/* ---- cells ----------------------------------------------------------------------- */

static void new_line(struct summary_table *s)
{
	if (s->nlines == s->size) {
		s->size = s->size * 2 + 64;
		s->cell = xrealloc(s->cell, s->size * sizeof(char **));
		s->note = xrealloc(s->note, s->size * sizeof(char *));
	}
	s->cell[s->nlines] = xcalloc(s->ncols, sizeof(char *));
	s->note[s->nlines++] = NULL;
	s->column = 0;
}

/* Makes s->line the next cell. */
static void end_cell(struct summary_table *s)
{
	line_word(&s->line, "", 1); /* makes room for the NUL */
	s->line.text[s->line.n - 1] = '\0';
	s->cell[s->nlines - 1][s->column++] = xstrdup(s->line.text);
	s->line.n = 0;
}

static void put_cell(struct summary_table *s, const char *text)
{
	line_word(&s->line, text, 0);
	end_cell(s);
}

static void put_number(struct summary_table *s, uint64_t val)
{
	line_number(&s->line, val, false, 0);
	end_cell(s);
}

static void free_lines(struct summary_table *s)
{
	for (size_t i = 0; i < s->nlines; i++) {
		for (size_t c = 0; c < s->ncols; c++)
			free(s->cell[i][c]);
		free(s->cell[i]);
		free(s->note[i]);
	}
	free(s->cell);
	free(s->note);
	s->cell = NULL;
	s->note = NULL;
	s->nlines = s->size = 0;
	s->line.n = 0;
}

/* ---- columns ----------------------------------------------------------------------- */

static bool has_pid(const struct run *run)
{
	return run->by == BY_LWP || run->by == BY_PROCESS;
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

	free_lines(s);
	s->run = run;
	s->shared = false;
	s->ncols = 6; /* at least as many as there are besides those of events */
	for (size_t k = 0; k < run->nsets; k++)
		s->ncols += run->set[k].nevents + run->set[k].nratios + s->style.cycles;
	new_line(s);
	if (run->interval)
		put_cell(s, "time");
	if (run->by == BY_CPU)
		put_cell(s, run->scope == SCOPE_ALL ? "cpu" : cpu_scope_name(run->scope));
	if (has_pid(run))
		put_cell(s, "pid");
	if (run->by == BY_LWP)
		put_cell(s, s->style.tids ? "tid" : "lwp");
	if (run->by == BY_PROCESS)
		put_cell(s, "lwps");
	if (row_by_has_keys(run->by))
		put_cell(s, row_by_name(run->by));
	if (run->by == BY_COMMAND || row_by_has_keys(run->by))
		put_cell(s, "runs");
	if (run->by != BY_CPU && !row_by_has_keys(run->by))
		put_cell(s, "comm");
	put_event_titles(s, &run->set[0]);
	put_cell(s, "share");
	for (size_t k = 1; k < run->nsets; k++)
		put_event_titles(s, &run->set[k]);
	s->ncols = s->column;
}

static void put_key(struct summary_table *s, const char *key)
{
	size_t width = 0;

	line_key(&s->line, key, &width);
	end_cell(s);
}

static void put_cpu(struct summary_table *s, const struct row *row)
{
	if (row->kind == ROW_TOTAL)
		put_cell(s, "total");
	else if (row->key != NULL)
		put_key(s, row->key);
	else if (row->scope == SCOPE_ALL)
		put_cell(s, cpu_scope_name(SCOPE_ALL));
	else
		put_number(s, (uint64_t)row->id);
}

static void put_id(struct summary_table *s, const struct row *row)
{
	enum row_by by = s->run->by;
	bool total = row->kind == ROW_TOTAL;

	if (has_pid(s->run) && total)
		put_cell(s, "-");
	else if (has_pid(s->run))
		put_number(s, (uint64_t)row->pid);
	if (row_by_has_keys(by) && total)
		put_cell(s, "total");
	else if (row_by_has_keys(by))
		put_key(s, row->key);
	if (by == BY_LWP && total)
		put_cell(s, "-");
	else if (by == BY_LWP)
		put_number(s, (uint64_t)(s->style.tids ? row->tid : row->lwp));
	else
		put_number(s, row->runs);
	if (row_by_has_keys(by))
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

/* The rows of an LWP, process, command or CPU, one per set, follow each other. */
static void summary_table_row(struct sink *sink, const struct row *row)
{
	struct summary_table *s = (struct summary_table *)sink;
	const struct run_set *set = &s->run->set[row->set];

	if (row->kind != ROW_SUM && row->kind != ROW_TOTAL)
		return;
	if (row->set == 0) {
		new_line(s);
		if (s->run->interval) {
			line_time(&s->line, row->time_ns);
			end_cell(s);
		}
		if (s->run->by == BY_CPU)
			put_cpu(s, row);
		else
			put_id(s, row);
	}
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
	if (row->incomplete && s->note[s->nlines - 1] == NULL)
		s->note[s->nlines - 1] = xstrdup("# incomplete");
}

/* ---- lines ------------------------------------------------------------------------- */

static void summary_table_end(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;
	size_t *width = xcalloc(s->ncols, sizeof(*width));

	for (size_t i = s->style.no_header; i < s->nlines; i++) {
		for (size_t c = 0; c < s->ncols; c++) {
			size_t n = strlen(s->cell[i][c]);

			width[c] = n > width[c] ? n : width[c];
		}
	}
	if (s->more)
		fputc('\n', s->file);
	s->more = s->run->interval;
	for (size_t i = s->style.no_header; i < s->nlines; i++) {
		for (size_t c = 0; c < s->ncols; c++) {
			if (c > 0)
				line_blank(&s->line);
			line_word(&s->line, s->cell[i][c], width[c]);
		}
		if (s->note[i] != NULL) {
			line_blank(&s->line);
			line_word(&s->line, s->note[i], 0);
		}
		line_word(&s->line, "\n", 0);
		line_write(&s->line, s->file);
	}
	free(width);
	free_lines(s);
}

static void summary_table_free(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;

	free_lines(s);
	line_free(&s->line);
	free(s);
}

struct sink *summary_table_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = summary_table_begin,
					    .row = summary_table_row,
					    .end = summary_table_end,
					    .free = summary_table_free};
	struct summary_table *s = xcalloc(1, sizeof(*s));

	s->sink.ops = &ops;
	s->file = file;
	s->style = *style;
	return &s->sink;
}
