/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * columns.c - the columns of sums: of summaries, and of the screen.
 */
#include "columns.h"

#include "../base/util.h"

#include <stdlib.h>
#include <string.h>

#define MIN_NAME 24 /* columns are left out before names get shorter than this */

static void add(struct columns *c, enum column_kind kind, size_t set, unsigned i)
{
	if (c->n == c->size) {
		c->size = c->size * 2 + 16;
		c->col = xrealloc(c->col, c->size * sizeof(*c->col));
	}
	c->col[c->n++] = (struct column){.kind = kind, .set = set, .i = i};
}

static void add_counts(struct columns *c, size_t set)
{
	if (c->style->cycles)
		add(c, COLUMN_CYCLES, set, 0);
	for (unsigned i = 0; i < c->run->set[set].nevents; i++)
		add(c, COLUMN_EVENT, set, i);
	for (unsigned i = 0; i < c->run->set[set].nratios; i++)
		add(c, COLUMN_RATIO, set, i);
}

/* Of the first clock of its kind. */
static void add_percent(struct columns *c, enum column_kind kind, size_t set,
			bool (*is)(const struct run_event *event))
{
	for (unsigned i = 0; i < c->run->set[set].nevents; i++) {
		if (is(&c->run->set[set].event[i])) {
			add(c, kind, set, i);
			return;
		}
	}
}

void columns_find(struct columns *c, const struct run *run, enum scope by, size_t set)
{
	const bool name_first = c->screen || by == SCOPE_CPU || scope_is_owner(by);

	c->run = run;
	c->by = by;
	c->unit = run->scope;
	c->n = 0;
	if (run->interval)
		add(c, COLUMN_TIME, set, 0);
	if (by == SCOPE_LWP || by == SCOPE_PROCESS)
		add(c, COLUMN_PID, set, 0);
	if (by == SCOPE_LWP)
		add(c, COLUMN_LWP, set, 0);
	if (name_first)
		add(c, COLUMN_NAME, set, 0);
	if (by != SCOPE_LWP && by != SCOPE_CPU)
		add(c, COLUMN_RUNS, set, 0);
	if (!name_first)
		add(c, COLUMN_NAME, set, 0);
	if (c->screen) {
		add(c, COLUMN_SHARE, set, 0);
		add_percent(c, COLUMN_CPU, set, run_event_is_cpu_time);
		add_percent(c, COLUMN_WAIT, set, run_event_is_wait);
		add_counts(c, set);
		return;
	}
	add_counts(c, 0);
	add(c, COLUMN_SHARE, 0, 0);
	for (size_t k = 1; k < run->nsets; k++)
		add_counts(c, k);
	add(c, COLUMN_NOTE, run->nsets - 1, 0);
}

static const char *name_title(const struct columns *c)
{
	if (c->by == SCOPE_CPU)
		return c->unit == SCOPE_ALL ? "cpu" : scope_name(c->unit);
	return scope_is_owner(c->by) ? scope_name(c->by) : c->screen ? "command" : "comm";
}

static void put_title(const struct columns *c, const struct column *col, struct line *line)
{
	const struct run_set *set = &c->run->set[col->set];
	const char *const titles[] = {
		[COLUMN_TIME] = "time",
		[COLUMN_PID] = "pid",
		[COLUMN_LWP] = c->style->tids ? "tid" : "lwp",
		[COLUMN_NAME] = name_title(c),
		[COLUMN_RUNS] = c->by == SCOPE_PROCESS ? "lwps" : "runs",
		[COLUMN_SHARE] = "share",
		[COLUMN_CPU] = "%CPU",
		[COLUMN_WAIT] = "%WAIT",
		[COLUMN_CYCLES] = c->run->cycles,
		[COLUMN_NOTE] = "",
	};

	if (col->kind == COLUMN_EVENT)
		line_title(line, c->style, set->event[col->i].label, 0);
	else if (col->kind == COLUMN_RATIO)
		line_label(line, set->ratio[col->i].label, 0);
	else
		line_word(line, titles[col->kind], 0);
}

static void put_id(const struct columns *c, const struct row *row, pid_t id, struct line *line)
{
	if (row->kind != ROW_TOTAL && !row->folded)
		line_number(line, (uint64_t)id, false, 0);
	else if (!c->screen)
		line_word(line, "-", 0);
}

static void put_name(const struct columns *c, const struct row *row, struct line *line)
{
	size_t width = 0;

	if (row->kind == ROW_TOTAL)
		line_word(line, "total", 0);
	else if (c->by != SCOPE_CPU && !scope_is_owner(c->by))
		line_comm(line, c->style, row->comm, 0);
	else if (row->key != NULL)
		line_key(line, c->style, row, &width);
	else if (row->scope == SCOPE_ALL)
		line_word(line, scope_name(SCOPE_ALL), 0);
	else
		line_number(line, (uint64_t)row->id, false, 0);
}

static void put_percent(bool known, double part, const char *unit, struct line *line)
{
	char text[400] = "-"; /* the largest double has 309 digits */

	if (known)
		snprintf(text, sizeof(text), "%.1f%s", part * 100, unit);
	line_word(line, text, 0);
}

static void put_note(const struct columns *c, const struct row *row, struct line *line)
{
	if (row->incomplete) {
		line_word(line, style_mark(c->style, MARK_BAD), 0);
		line_word(line, "# incomplete", 0);
		line_word(line, style_mark(c->style, MARK_END), 0);
	}
	if (row->late == 0)
		return;
	line_word(line, row->incomplete ? " # late " : "# late ", 0);
	line_number(line, row->late, false, 0);
}

void columns_cell(const struct columns *c, const struct column *col, const struct row *row,
		  struct line *line)
{
	const struct run_event *event = &c->run->set[col->set].event[col->i];

	line->n = 0;
	if (row == NULL) {
		put_title(c, col, line);
		return;
	}
	switch (col->kind) {
	case COLUMN_TIME:
		line_time(line, row->time_ns);
		break;
	case COLUMN_PID:
		put_id(c, row, row->pid, line);
		break;
	case COLUMN_LWP:
		put_id(c, row, c->style->tids ? row->tid : (pid_t)row->lwp, line);
		break;
	case COLUMN_NAME:
		put_name(c, row, line);
		break;
	case COLUMN_RUNS:
		line_number(line, row->runs, false, 0);
		break;
	case COLUMN_SHARE:
		put_percent(row->shared, row->share, "%", line);
		break;
	case COLUMN_CPU:
	case COLUMN_WAIT:
		put_percent((row->valid >> col->i & 1) != 0 && row->span_ns > 0,
			    count_real(event, row->val[col->i]) / (double)row->span_ns, "", line);
		break;
	case COLUMN_CYCLES:
		line_cycles(line, c->style, row, 0);
		break;
	case COLUMN_EVENT:
		line_count(line, c->style, c->run, row, col->i, 0);
		break;
	case COLUMN_RATIO:
		line_ratio(line, c->run, row, col->i, 0);
		break;
	case COLUMN_NOTE:
		put_note(c, row, line);
		break;
	}
}

void columns_append(const struct columns *c, const struct column *col, const struct row *row,
		    struct line *cell, struct line *line)
{
	size_t width = col->shown, dots = width > 6 ? 3 : 0, n;
	const char *text;
	char *cut;

	columns_cell(c, col, row, cell);
	text = line_text(cell);
	n = cell->n;
	if (col->kind != COLUMN_NAME) {
		line_word(line, text, width);
	} else if (n <= width) {
		line_left(line, text, &width);
	} else {
		cut = strchr(text, '/') != NULL
			      ? xasprintf("%.*s%s", (int)dots, "...", text + n - width + dots)
			      : xasprintf("%.*s%.*s", (int)(width - dots), text, (int)dots, "...");
		line_word(line, cut, 0);
		free(cut);
	}
}

/* ---- widths ----------------------------------------------------------------------- */

/* Widths only grow: columns do not move at each sample. */
static void measure(struct columns *c, const struct row *row, struct line *line)
{
	for (size_t i = 0; i < c->n; i++) {
		columns_cell(c, &c->col[i], row, line);
		if (line->n > c->col[i].width)
			c->col[i].width = line->n;
	}
}

/* Names get room first, then the counts that the rows are sorted by, then columns from the left. */
static unsigned priority(const struct columns *c, const struct column *col)
{
	return col->kind == COLUMN_NAME ? 0 : columns_is_sorted(c, col) ? 1 : 2;
}

void columns_fit(struct columns *c, const struct row *row, size_t nrows, const struct row *total,
		 size_t width, struct line *line)
{
	struct column *name = NULL;
	size_t used = 0;
	bool full = false;

	measure(c, NULL, line);
	measure(c, total, line);
	for (size_t i = 0; i < nrows; i++)
		measure(c, &row[i], line);
	c->nleft = 0;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < c->n; i++) {
			struct column *col = &c->col[i];

			if (priority(c, col) != pass)
				continue;
			col->shown = col->width;
			if (pass == 0) {
				name = col;
				col->shown = width < 2 * MIN_NAME ? width * 2 / 5 : MIN_NAME;
				if (col->shown > col->width)
					col->shown = col->width;
			}
			full |= used + col->shown > width;
			c->nleft += full;
			if (full)
				col->shown = 0;
			else
				used += col->shown + 1;
		}
	}
	/* `used` includes a blank behind the last column. */
	if (name != NULL && used <= width + 1)
		name->shown += width + 1 - used;
	if (name != NULL && name->shown > name->width)
		name->shown = name->width;
}
