/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * columns.h - the columns of sums: of summaries, and of the screen.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "line.h"

struct column {
	enum column_kind {
		COLUMN_TIME,
		COLUMN_PID,
		COLUMN_LWP,
		COLUMN_NAME, /* of an LWP, process, command, owner or CPU */
		COLUMN_RUNS,
		COLUMN_SHARE,
		COLUMN_CPU,  /* time in per cent of a CPU */
		COLUMN_WAIT, /* likewise, the time of waiting for one */
		COLUMN_CYCLES,
		COLUMN_EVENT,
		COLUMN_RATIO,
		COLUMN_NOTE,
	} kind;
	size_t set;   /* the set of its rows */
	unsigned i;   /* of the event or ratio */
	size_t width; /* of its contents, */
	size_t shown; /* and on the screen; 0: it does not fit */
};

/* The column by which the rows of a screen are sorted. */
struct sort_key {
	enum column_kind kind;
	unsigned i; /* of the event or ratio */
};

struct columns {
	const struct style *style;
	bool screen; /* the columns of one set; names are commands, and a total has no ids */
	const struct run *run;
	enum scope by;	 /* of the rows */
	enum scope unit; /* of rows of CPUs */
	struct sort_key sort;
	size_t n, size;
	size_t nleft; /* columns that do not fit */
	struct column *col;
};

/* Finds the columns of rows by this unit.  `set`: of the screen; else 0. */
void columns_find(struct columns *columns, const struct run *run, enum scope by, size_t set);

/* Makes `line` the cell of a row; NULL: the title of the column. */
void columns_cell(const struct columns *columns, const struct column *col, const struct row *row,
		  struct line *line);

/*
 * Appends a cell to `line` as the screen shows it, as wide as its column.  A longer path is cut at
 * its beginning, other names at their end.  `cell` is for the work.
 */
void columns_append(const struct columns *columns, const struct column *col, const struct row *row,
		    struct line *cell, struct line *line);

static inline bool columns_is_sorted(const struct columns *columns, const struct column *col)
{
	return col->kind == columns->sort.kind && col->i == columns->sort.i;
}

/*
 * Fits the columns of these rows, the total and the titles into `width`.  A part of a number would
 * be a wrong number: a column is shown as a whole or not at all.
 */
void columns_fit(struct columns *columns, const struct row *row, size_t nrows,
		 const struct row *total, size_t width, struct line *line);

#endif /* COLUMNS_H */
