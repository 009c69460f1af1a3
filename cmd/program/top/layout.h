/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * layout.h - the columns of the screen and their widths.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "../../rows/columns.h"
#include "view.h"

struct layout {
	const struct view *view;
	struct columns list;
	size_t nleft; /* columns that do not fit */
};

/* Finds the columns of the rows of the view. */
void layout_find(struct layout *layout, const struct view *view, const struct style *style);

/*
 * Fits the columns of the first `nrows` rows, the total and the titles into `width`.  A part of a
 * number would be a wrong number: a column is shown as a whole or not at all.
 */
void layout_fit(struct layout *layout, size_t nrows, size_t width, struct line *line);

/* Is it the column of the event by which the rows are sorted? */
bool layout_is_sorted(const struct layout *layout, const struct column *col);

#endif /* LAYOUT_H */
