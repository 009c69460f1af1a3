/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * summary_table.c - the table of a summary: a line for each LWP, process, command or CPU, with all
 * sets side by side.  It is printed at the end, when the widths of all columns are known.
 */
#include "../base/util.h"
#include "columns.h"

#include <stdlib.h>

struct summary_table {
	struct sink sink;
	FILE *file;
	struct style style;
	struct columns columns;
	struct cells cells;
	bool shared;   /* some line has a share: the total is not 0 */
	uint64_t late; /* of the sets of this line */
	bool more;     /* print an empty line before the next summary */
	struct line line;
};

/* Puts the cells of a row; NULL: the titles of all columns. */
static void put_cells(struct summary_table *s, const struct row *row)
{
	const struct columns *c = &s->columns;

	for (size_t i = 0; i < c->n; i++) {
		if (row != NULL && c->col[i].set != row->set)
			continue;
		columns_cell(c, &c->col[i], row, &s->line);
		cells_add(&s->cells, xasprintf("%.*s", (int)s->line.n, s->line.text));
	}
}

static void summary_table_begin(struct sink *sink, const struct run *run)
{
	struct summary_table *s = (struct summary_table *)sink;

	cells_free(&s->cells);
	s->shared = false;
	columns_find(&s->columns, run, run->by, 0);
	s->cells.ncolumns = s->columns.n;
	if (!s->style.no_header)
		put_cells(s, NULL);
}

/* The rows of an LWP, process, command or CPU, one per set, follow each other. */
static void summary_table_row(struct sink *sink, const struct row *from)
{
	struct summary_table *s = (struct summary_table *)sink;
	struct row row = *from;

	if (row.kind != ROW_SUM && row.kind != ROW_TOTAL)
		return;
	s->shared |= row.shared;
	if (row.kind == ROW_TOTAL && s->shared) {
		row.shared = true;
		row.share = 1;
	}
	s->late = row.late += row.set > 0 ? s->late : 0;
	put_cells(s, &row);
}

static void summary_table_end(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;

	if (s->more)
		fputc('\n', s->file);
	s->more = s->columns.run->interval;
	cells_write(&s->cells, s->file);
}

/* The next summary has its titles already. */
static void summary_table_next_file(struct sink *sink, bool begins)
{
	(void)begins;
	((struct summary_table *)sink)->more = false;
}

static void summary_table_free(struct sink *sink)
{
	struct summary_table *s = (struct summary_table *)sink;

	cells_free(&s->cells);
	line_free(&s->line);
	free(s->columns.col);
}

struct sink *summary_table_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = summary_table_begin,
					    .row = summary_table_row,
					    .end = summary_table_end,
					    .next_file = summary_table_next_file,
					    .free = summary_table_free};
	struct summary_table *s = sink_new(sizeof(*s), &ops, NULL);

	s->file = file;
	s->style = *style;
	s->columns.style = &s->style;
	return &s->sink;
}
