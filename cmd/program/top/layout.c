/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * layout.c - the columns of the screen and their widths.
 */
#include "layout.h"

#define MIN_NAME 24 /* columns are left out before names get shorter than this */

void layout_find(struct layout *l, const struct view *view, const struct style *style)
{
	l->view = view;
	l->list.style = style;
	l->list.screen = true;
	columns_find(&l->list, view->run, view->run->of_cpus ? SCOPE_CPU : view->by, view->set);
}

bool layout_is_sorted(const struct layout *l, const struct column *col)
{
	return col->kind == COLUMN_EVENT && col->i == l->view->sort;
}

/* Widths only grow: columns do not move at each sample. */
static void measure(struct layout *l, const struct row *row, struct line *line)
{
	for (size_t c = 0; c < l->list.n; c++) {
		columns_cell(&l->list, &l->list.col[c], row, line);
		if (line->n > l->list.col[c].width)
			l->list.col[c].width = line->n;
	}
}

/* Names get room first, then the counts that the rows are sorted by, then columns from the left. */
static unsigned priority(const struct layout *l, const struct column *col)
{
	return col->kind == COLUMN_NAME ? 0 : layout_is_sorted(l, col) ? 1 : 2;
}

void layout_fit(struct layout *l, size_t nrows, size_t width, struct line *line)
{
	struct column *name = NULL;
	size_t used = 0;
	bool full = false;

	measure(l, NULL, line);
	measure(l, &l->view->total, line);
	for (size_t i = 0; i < nrows; i++)
		measure(l, &l->view->row[i], line);
	l->nleft = 0;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t c = 0; c < l->list.n; c++) {
			struct column *col = &l->list.col[c];

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
