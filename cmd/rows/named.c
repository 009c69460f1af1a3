/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * named.c - tables for people: a column for each event, titled with its name and as wide as its
 * contents.  On a terminal, command lines are cut at its width, and each screen has the header.
 */
#include "../base/util.h"
#include "line.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

struct column {
	char *title;
	size_t width; /* grows with its contents */
};

struct named {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	size_t ncols;
	struct column *col;
	size_t nsets, **of; /* by set: the columns of its events, then of its ratios */
	size_t cycles_width, lwp_width, key_width;
	unsigned rows_left; /* until the next header; 0: print no more headers */
	bool stamped;	    /* the time of this sample was printed */
	struct line line, value;
};

/* Finds or adds the column of an event or ratio.  `style` is of its values. */
static size_t find_column(struct named *t, const struct style *style, const char *label)
{
	char *title;

	line_title(&t->value, style, label, 0);
	title = xasprintf("%.*s", (int)t->value.n, t->value.text);
	t->value.n = 0;
	for (size_t c = 0; c < t->ncols; c++) {
		if (strcmp(t->col[c].title, title) == 0) {
			free(title);
			return c;
		}
	}
	t->col = xrealloc(t->col, (t->ncols + 1) * sizeof(*t->col));
	t->col[t->ncols] = (struct column){.title = title, .width = strlen(title)};
	return t->ncols++;
}

static void free_columns(struct named *t)
{
	for (size_t c = 0; c < t->ncols; c++)
		free(t->col[c].title);
	free(t->col);
	for (size_t k = 0; k < t->nsets; k++)
		free(t->of[k]);
	free(t->of);
	t->col = NULL;
	t->of = NULL;
	t->nsets = 0;
	t->ncols = 0;
}

static struct winsize terminal_size(const struct named *t)
{
	struct winsize size = {0};

	if (t->style.terminal)
		ioctl(fileno(t->file), TIOCGWINSZ, &size);
	return size;
}

/* Writes the line without trailing blanks. */
static void write_line(struct named *t)
{
	while (t->line.n > 0 && t->line.text[t->line.n - 1] == ' ')
		t->line.n--;
	line_word(&t->line, "\n", 0);
	line_write(&t->line, t->file);
}

static void put_header(struct named *t)
{
	struct line *line = &t->line;
	unsigned rows = terminal_size(t).ws_row;

	line_word(line, "time", 7);
	line_blank(line);
	if (t->run->of_cpus && scope_has_keys(t->run->scope)) {
		line_key(line, cpu_scope_name(t->run->scope), &t->key_width);
		line_blank(line);
	} else if (t->run->of_cpus) {
		line_word(line, t->run->scope == SCOPE_ALL ? "cpu" : cpu_scope_name(t->run->scope),
			  6);
		line_blank(line);
	} else {
		if (t->run->many) {
			line_word(line, "pid", 7);
			line_blank(line);
		}
		line_word(line, t->style.tids ? "tid" : "lwp", t->lwp_width);
		line_blank(line);
		if (t->style.comm) {
			line_word(line, "comm", COMM_WIDTH);
			line_blank(line);
		}
	}
	line_word(line, "event", 10);
	if (t->style.cycles) {
		line_blank(line);
		line_word(line, t->run->cycles, t->cycles_width);
	}
	for (size_t c = 0; c < t->ncols; c++) {
		line_blank(line);
		line_word(line, t->col[c].title, t->col[c].width);
	}
	write_line(t);
	t->rows_left = rows > 2 ? rows - 2 : 0;
}

static void named_begin(struct sink *sink, const struct run *run)
{
	static const struct style plain;
	struct named *t = (struct named *)sink;

	free_columns(t);
	t->run = run;
	t->stamped = false;
	t->key_width = KEY_WIDTH;
	t->of = xcalloc(run->nsets + 1, sizeof(*t->of));
	for (size_t k = 0; k < run->nsets; k++) {
		const struct run_set *set = &run->set[k];

		t->nsets++;
		t->of[k] = xcalloc(set->nevents + set->nratios + 1U, sizeof(**t->of));
		for (unsigned i = 0; i < set->nevents; i++)
			t->of[k][i] = find_column(t, &t->style, set->event[i].label);
	}
	for (size_t k = 0; k < run->nsets; k++) {
		const struct run_set *set = &run->set[k];

		for (unsigned i = 0; i < set->nratios; i++)
			t->of[k][set->nevents + i] = find_column(t, &plain, set->ratio[i].label);
	}
	if (!t->style.no_header)
		put_header(t);
}

static void put_id(struct named *t, const struct row *row)
{
	struct line *line = &t->line;
	bool total = row->kind == ROW_TOTAL;

	if (t->run->of_cpus && scope_has_keys(t->run->scope)) {
		line_key_of_row(line, row, &t->key_width);
		line_blank(line);
	} else if (t->run->of_cpus) {
		if (total || row->scope == SCOPE_ALL)
			line_word(line, "all", 6);
		else
			line_number(line, (uint64_t)row->id, false, 6);
		line_blank(line);
	} else {
		if (t->run->many && total)
			line_word(line, "all", 7);
		else if (t->run->many)
			line_number(line, (uint64_t)row->pid, false, 7);
		if (t->run->many)
			line_blank(line);
		if (total)
			line_word(line, "-", t->lwp_width);
		else
			line_number(line, (uint64_t)(t->style.tids ? row->tid : row->lwp), false,
				    t->lwp_width);
		line_blank(line);
		if (t->style.comm) {
			line_comm(line, row->comm, COMM_WIDTH);
			line_blank(line);
		}
	}
	line_word(line, line_event(row->kind), 10);
}

/* Appends t->value as a column, and widens the column if necessary. */
static void put_value(struct named *t, size_t *width)
{
	line_blank(&t->line);
	if (t->value.n > *width)
		*width = t->value.n;
	line_word(&t->value, "", 1); /* makes room for the NUL */
	t->value.text[t->value.n - 1] = '\0';
	line_word(&t->line, t->value.text, *width);
	t->value.n = 0;
}

static void put_counts(struct named *t, const struct row *row)
{
	const struct run_set *set = &t->run->set[row->set];

	if (t->style.cycles) {
		line_cycles(&t->value, &t->style, row, 0);
		put_value(t, &t->cycles_width);
	}
	for (size_t c = 0; c < t->ncols; c++) {
		for (unsigned i = 0; i < set->nevents; i++) {
			if (t->of[row->set][i] == c)
				line_count(&t->value, &t->style, t->run, row, i, 0);
		}
		for (unsigned i = 0; i < set->nratios; i++) {
			if (t->of[row->set][set->nevents + i] == c)
				line_ratio(&t->value, t->run, row, i, 0);
		}
		put_value(t, &t->col[c].width);
	}
}

/* For command lines only: a cut count would be a wrong number. */
static void cut_line(struct named *t)
{
	size_t width = terminal_size(t).ws_col;

	if (width > 0 && t->line.n > width)
		t->line.n = width;
}

static void named_row(struct sink *sink, const struct row *row)
{
	struct named *t = (struct named *)sink;

	if (row->ncpus == 0 && t->run->of_cpus && row->kind == ROW_TICK)
		return; /* not counted; a message reported this */
	if (t->rows_left > 0 && --t->rows_left == 0 && !t->style.no_header)
		put_header(t);
	if (!t->stamped && row->kind == ROW_TICK)
		line_stamp(t->file, &t->style, row->wall_ns);
	t->stamped = true;
	line_time(&t->line, row->time_ns);
	line_blank(&t->line);
	put_id(t, row);
	if (row->val != NULL)
		put_counts(t, row);
	line_blank(&t->line);
	line_notes(&t->line, t->run, row, &t->style, false);
	if (row->kind == ROW_IMAGE)
		cut_line(t);
	write_line(t);
}

static void named_sampled(struct sink *sink)
{
	struct named *t = (struct named *)sink;

	t->stamped = false;
}

static void named_free(struct sink *sink)
{
	struct named *t = (struct named *)sink;

	free_columns(t);
	line_free(&t->line);
	line_free(&t->value);
	free(t);
}

struct sink *named_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = named_begin,
					    .row = named_row,
					    .sampled = named_sampled,
					    .free = named_free};
	struct named *t = xcalloc(1, sizeof(*t));

	t->sink.ops = &ops;
	t->file = file;
	t->style = *style;
	t->lwp_width = style->tids ? 7 : 3;
	t->cycles_width = 9;
	return &t->sink;
}
