/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * means.c - the table of means over several runs, and of their comparison.
 */
#include "means.h"

#include "../base/say.h"
#include "../base/util.h"
#include "line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 8

/* Cells in the order of the lines.  The last one of a line is a note, which may be empty. */
struct cells {
	size_t ncolumns, n;
	char **text;
};

static void add_cell(struct cells *cells, char *text)
{
	cells->text = xrealloc(cells->text, (cells->n + 1) * sizeof(*cells->text));
	cells->text[cells->n++] = text;
}

static void add_titles(struct cells *cells, const char *const *title)
{
	for (size_t i = 0; i < cells->ncolumns; i++)
		add_cell(cells, xstrdup(title[i]));
}

/* Writes the lines, each column as wide as its widest cell, and frees the cells. */
static void put_cells(FILE *f, struct cells *cells)
{
	int width[MAX_COLUMNS] = {0};

	for (size_t i = 0; i < cells->n; i++) {
		int n = (int)strlen(cells->text[i]);

		if (n > width[i % cells->ncolumns])
			width[i % cells->ncolumns] = n;
	}
	for (size_t i = 0; i < cells->n; i++) {
		size_t column = i % cells->ncolumns;

		if (column + 1 < cells->ncolumns)
			fprintf(f, "%s%*s", column > 0 ? " " : "", width[column], cells->text[i]);
		else
			fprintf(f, "%s%s\n", *cells->text[i] != '\0' ? " " : "", cells->text[i]);
		free(cells->text[i]);
	}
	free(cells->text);
}

static char *value_text(const struct series *series, const struct style *style, double val)
{
	static const int digits[] = {[SERIES_EVENT] = 1, [SERIES_RATIO] = 4, [SERIES_TIME] = 6};
	bool is_time = series->kind == SERIES_TIME;
	char text[HUMAN_SIZE], unit[64];

	if (style->human && series->kind != SERIES_RATIO) {
		human_text(text, sizeof(text), is_time ? val * NSEC : val, is_time || series->clock,
			   series->unit);
		return xstrdup(text);
	}
	escape_text(unit, sizeof(unit), series->unit, ESCAPE_WORD);
	return xasprintf("%.*f%s", digits[series->kind], val,
			 series->kind != SERIES_RATIO ? unit : "");
}

static char *label_text(const struct series *series)
{
	size_t size = ESCAPED_SIZE(strlen(series->label));
	char *text = xcalloc(1, size);

	escape_text(text, size, series->label, ESCAPE_WORD);
	return text;
}

static char *mean_text(const struct series *series, const struct style *style)
{
	return series != NULL && series->n > 0 ? value_text(series, style, series_mean(series))
					       : xstrdup("-");
}

/* The deviation as a part of the mean. */
static char *spread_text(const struct series *series)
{
	double mean, deviation;

	if (series == NULL || series->n < 2)
		return xstrdup("-");
	mean = series_mean(series);
	deviation = series_deviation(series);
	if (mean == 0 && deviation != 0)
		return xstrdup("-");
	return xasprintf("%.2f%%", mean != 0 ? 100 * deviation / fabs(mean) : 0);
}

static void add_means(struct cells *cells, const struct series *series, const struct style *style)
{
	bool known = series->n > 0;

	add_cell(cells, label_text(series));
	add_cell(cells, xasprintf("%zu", series->n));
	add_cell(cells, mean_text(series, style));
	add_cell(cells, series->n > 1 ? value_text(series, style, series_deviation(series))
				      : xstrdup("-"));
	add_cell(cells, spread_text(series));
	add_cell(cells, known ? value_text(series, style, series_least(series)) : xstrdup("-"));
	add_cell(cells, known ? value_text(series, style, series_most(series)) : xstrdup("-"));
	add_cell(cells, xasprintf("%s%s", series->turns ? "# in turns" : "",
				  !series->incomplete ? ""
				  : series->turns     ? " # incomplete"
						      : "# incomplete"));
}

static char *verdict_text(const struct means *means, const struct means_row *row)
{
	const struct comparison *c = &row->comparison;
	bool turns = row->now->turns || (row->old != NULL && row->old->turns);

	if (c->reason != NULL)
		return xasprintf(" %s: %s", verdict_name(c->verdict), c->reason);
	if (c->above)
		return xasprintf(" more: above the limit of %g%%", 100 * means->limit);
	return xasprintf(" %s%s", verdict_name(c->verdict), turns ? " # in turns" : "");
}

static void add_comparison(struct cells *cells, const struct means *means,
			   const struct means_row *row, const struct style *style)
{
	size_t nold = row->old != NULL ? row->old->n : 0;

	add_cell(cells, label_text(row->now));
	add_cell(cells, nold == row->now->n ? xasprintf("%zu", nold)
					    : xasprintf("%zu/%zu", nold, row->now->n));
	add_cell(cells, mean_text(row->old, style));
	add_cell(cells, spread_text(row->old));
	add_cell(cells, mean_text(row->now, style));
	add_cell(cells, spread_text(row->now));
	add_cell(cells, isnan(row->comparison.change)
				? xstrdup("-")
				: xasprintf("%+.2f%%", 100 * row->comparison.change));
	add_cell(cells, verdict_text(means, row));
}

void means_table(FILE *file, const struct style *style, const struct means *means)
{
	static const char *const titles[] = {"event",  "runs",	"mean", "deviation",
					     "spread", "least", "most", ""};
	static const char *const compared[] = {"event", "runs",	  "old",    "spread",
					       "new",	"spread", "change", " verdict"};
	struct cells cells = {.ncolumns = MAX_COLUMNS};

	if (means->n > 0 && !style->no_header)
		add_titles(&cells, means->compared ? compared : titles);
	for (size_t i = 0; i < means->n; i++) {
		if (means->compared)
			add_comparison(&cells, means, &means->row[i], style);
		else
			add_means(&cells, means->row[i].now, style);
	}
	put_cells(file, &cells);
}
