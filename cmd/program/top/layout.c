/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * layout.c - the columns of the screen and their cells.
 */
#include "layout.h"

#define MIN_NAME 24 /* columns are left out before names get shorter than this */

/* The index of the first clock; -1: none. */
static int find_clock(const struct run_set *set)
{
	for (unsigned i = 0; i < set->nevents; i++) {
		if (run_event_is_clock(&set->event[i]))
			return (int)i;
	}
	return -1;
}

static void add_column(struct layout *l, enum layout_kind kind, unsigned i)
{
	l->col[l->n++] = (struct layout_column){.kind = kind, .i = i};
}

void layout_find(struct layout *l, const struct view *view, const struct style *style)
{
	const struct run_set *set = view_set(view);
	bool lwps = !view->run->of_cpus;
	int clock = find_clock(set);

	*l = (struct layout){.view = view, .style = style};
	if (lwps && (view->by == SCOPE_PROCESS || view->by == SCOPE_LWP))
		add_column(l, LAYOUT_PID, 0);
	if (lwps && view->by == SCOPE_LWP)
		add_column(l, LAYOUT_LWP, 0);
	add_column(l, LAYOUT_NAME, 0);
	if (lwps && view->by != SCOPE_LWP)
		add_column(l, LAYOUT_RUNS, 0);
	add_column(l, LAYOUT_SHARE, 0);
	if (clock != -1)
		add_column(l, LAYOUT_CPU, (unsigned)clock);
	if (style->cycles)
		add_column(l, LAYOUT_CYCLES, 0);
	for (unsigned i = 0; i < set->nevents; i++)
		add_column(l, LAYOUT_EVENT, i);
	for (unsigned i = 0; i < set->nratios; i++)
		add_column(l, LAYOUT_RATIO, i);
}

bool layout_is_sorted(const struct layout *l, const struct layout_column *col)
{
	return col->kind == LAYOUT_EVENT && col->i == l->view->sort;
}

/* ---- cells ------------------------------------------------------------------------ */

static const char *name_title(const struct view *view)
{
	const struct run *run = view->run;

	if (run->of_cpus)
		return run->scope == SCOPE_ALL ? "cpu" : scope_name(run->scope);
	return view->by == SCOPE_PROCESS || view->by == SCOPE_LWP ? "command"
								  : scope_name(view->by);
}

static void put_title(const struct layout *l, const struct layout_column *col, struct line *line)
{
	const struct run_set *set = view_set(l->view);
	const char *const titles[] = {
		[LAYOUT_PID] = "pid",
		[LAYOUT_LWP] = l->style->tids ? "tid" : "lwp",
		[LAYOUT_NAME] = name_title(l->view),
		[LAYOUT_RUNS] = l->view->by == SCOPE_PROCESS ? "lwps" : "runs",
		[LAYOUT_SHARE] = "share",
		[LAYOUT_CPU] = "%CPU",
		[LAYOUT_CYCLES] = l->view->run->cycles,
	};

	if (col->kind == LAYOUT_EVENT)
		line_title(line, l->style, set->event[col->i].label, 0);
	else if (col->kind == LAYOUT_RATIO)
		line_label(line, set->ratio[col->i].label, 0);
	else
		line_word(line, titles[col->kind], 0);
}

static void put_name(const struct layout *l, const struct row *row, struct line *line)
{
	size_t width = 0;

	if (row->kind == ROW_TOTAL)
		line_word(line, "total", 0);
	else if (row->key != NULL)
		line_key(line, row, &width);
	else if (!l->view->run->of_cpus)
		line_comm(line, row->comm, 0);
	else if (row->scope == SCOPE_ALL)
		line_word(line, scope_name(SCOPE_ALL), 0);
	else
		line_number(line, (uint64_t)row->id, false, 0);
}

/* Puts count `i` in per cent of `whole`. */
static void put_percent(const struct layout *l, const struct row *row, unsigned i, double whole,
			const char *unit, struct line *line)
{
	char text[400] = "-";

	if ((row->valid >> i & 1) != 0 && whole > 0)
		snprintf(text, sizeof(text), "%.1f%s",
			 count_real(&view_set(l->view)->event[i], row->val[i]) / whole * 100, unit);
	line_word(line, text, 0);
}

void layout_cell(const struct layout *l, const struct layout_column *col, const struct row *row,
		 struct line *line)
{
	const struct view *v = l->view;
	const struct run_event *sort = &view_set(v)->event[v->sort];

	line->n = 0;
	if (row == NULL) {
		put_title(l, col, line);
		return;
	}
	switch (col->kind) {
	case LAYOUT_PID:
		if (row->kind != ROW_TOTAL)
			line_number(line, (uint64_t)row->pid, false, 0);
		break;
	case LAYOUT_LWP:
		if (row->kind != ROW_TOTAL)
			line_number(line, (uint64_t)(l->style->tids ? row->tid : row->lwp), false,
				    0);
		break;
	case LAYOUT_NAME:
		put_name(l, row, line);
		break;
	case LAYOUT_RUNS:
		line_number(line, row->runs, false, 0);
		break;
	case LAYOUT_SHARE:
		put_percent(l, row, v->sort, count_real(sort, v->total.val[v->sort]), "%", line);
		break;
	case LAYOUT_CPU:
		put_percent(l, row, col->i, (double)v->span_ns, "", line);
		break;
	case LAYOUT_CYCLES:
		line_cycles(line, l->style, row, 0);
		break;
	case LAYOUT_EVENT:
		line_count(line, l->style, v->run, row, col->i, 0);
		break;
	case LAYOUT_RATIO:
		line_ratio(line, v->run, row, col->i, 0);
		break;
	}
}

/* ---- widths ----------------------------------------------------------------------- */

/* Widths only grow: columns do not move at each sample. */
static void measure(struct layout *l, const struct row *row, struct line *line)
{
	for (size_t c = 0; c < l->n; c++) {
		layout_cell(l, &l->col[c], row, line);
		if (line->n > l->col[c].width)
			l->col[c].width = line->n;
	}
}

/* Names get room first, then the counts that the rows are sorted by, then columns from the left. */
static unsigned priority(const struct layout *l, const struct layout_column *col)
{
	return col->kind == LAYOUT_NAME ? 0 : layout_is_sorted(l, col) ? 1 : 2;
}

void layout_fit(struct layout *l, size_t nrows, size_t width, struct line *line)
{
	struct layout_column *name = NULL;
	size_t used = 0;
	bool full = false;

	measure(l, NULL, line);
	measure(l, &l->view->total, line);
	for (size_t i = 0; i < nrows; i++)
		measure(l, &l->view->row[i], line);
	l->nleft = 0;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t c = 0; c < l->n; c++) {
			struct layout_column *col = &l->col[c];

			if (priority(l, col) != pass)
				continue;
			col->shown = col->width;
			if (pass == 0) {
				name = col;
				col->shown = width < 2 * MIN_NAME ? width * 2 / 5 : MIN_NAME;
				if (col->shown > col->width)
					col->shown = col->width;
			}
			full |= used + col->shown > width;
			l->nleft += full;
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
