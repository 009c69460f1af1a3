/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * layout.h - the columns of the screen and their cells.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "../../rows/line.h"
#include "view.h"

struct layout_column {
	enum layout_kind {
		LAYOUT_PID,
		LAYOUT_LWP,
		LAYOUT_NAME,
		LAYOUT_RUNS,
		LAYOUT_SHARE,
		LAYOUT_CPU,
		LAYOUT_CYCLES,
		LAYOUT_EVENT,
		LAYOUT_RATIO
	} kind;
	unsigned i;   /* of the event or ratio */
	size_t width; /* of its contents */
	size_t shown; /* width on the screen; 0: it does not fit */
};

struct layout {
	const struct view *view;
	const struct style *style;
	size_t n, nleft; /* columns; those of them that do not fit */
	struct layout_column col[RUN_MAX_EVENTS + RUN_MAX_RATIOS + LAYOUT_EVENT];
};

/* Finds the columns of the rows of the view. */
void layout_find(struct layout *layout, const struct view *view, const struct style *style);

/* Makes `line` the cell of a row; NULL: the title of the column. */
void layout_cell(const struct layout *layout, const struct layout_column *col,
		 const struct row *row, struct line *line);

/*
 * Fits the columns of the first `nrows` rows, the total and the titles into `width`.  A part of a
 * number would be a wrong number: a column is shown as a whole or not at all.
 */
void layout_fit(struct layout *layout, size_t nrows, size_t width, struct line *line);

/* Is it the column of the event by which the rows are sorted? */
bool layout_is_sorted(const struct layout *layout, const struct layout_column *col);

#endif /* LAYOUT_H */
