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

static void add_titles(struct cells *cells, const char *const *title)
{
	for (size_t i = 0; i < cells->ncolumns; i++)
		cells_add(cells, xstrdup(title[i]));
}

/* For people, the value can have its deviation; NaN: it has none. */
static char *value_text(const struct series *series, const struct style *style, double val,
			double deviation)
{
	static const int digits[] = {[SERIES_EVENT] = 1, [SERIES_RATIO] = 4, [SERIES_TIME] = 6};
	bool is_time = series->kind == SERIES_TIME;
	char text[HUMAN_SIZE], unit[64];

	if (isnan(val))
		return xstrdup("-");
	if (style->human && series->kind != SERIES_RATIO) {
		human_text(text, sizeof(text), is_time ? val * NSEC : val,
			   is_time ? deviation * NSEC : deviation, is_time || series->clock,
			   series->unit);
		return xstrdup(text);
	}
	escape_text(unit, sizeof(unit), series->unit, ESCAPE_WORD);
	if (series->kind == SERIES_RATIO)
		*unit = '\0';
	if (!isnan(deviation))
		return xasprintf("%.*f%s +- %.*f", digits[series->kind], val, unit,
				 digits[series->kind], deviation);
	return xasprintf("%.*f%s", digits[series->kind], val, unit);
}

/* The deviation as a part of the mean. */
static char *spread_text(const struct series *series)
{
	double mean = series_mean(series), deviation = series_deviation(series);

	if (series->n < 2 || (mean == 0 && deviation != 0))
		return xstrdup("-");
	return xasprintf("%.2f%%", mean != 0 ? 100 * deviation / fabs(mean) : 0);
}

static char *notes_text(const struct series *series, const struct style *style)
{
	size_t noutliers = series_outliers(series);
	char outliers[64] = "", *text, *trimmed;

	if (noutliers > 0)
		snprintf(outliers, sizeof(outliers), " # outliers: %zu", noutliers);
	text = xasprintf("%s%s%s%s%s%s", series->turns ? " # in turns" : "",
			 series->incomplete ? " " : "",
			 series->incomplete ? style_mark(style, MARK_BAD) : "",
			 series->incomplete ? "# incomplete" : "",
			 series->incomplete ? style_mark(style, MARK_END) : "", outliers);
	trimmed = xstrdup(*text != '\0' ? text + 1 : text);
	free(text);
	return trimmed;
}

/* For people, the mean has the deviation. */
static void add_means(struct cells *cells, const struct series *series, const struct style *style)
{
	const double none = (double)NAN, deviation = series_deviation(series);

	cells_add(cells, escaped(series->label, ESCAPE_WORD));
	cells_add(cells, xasprintf("%zu", series->n));
	cells_add(cells,
		  value_text(series, style, series_mean(series), style->human ? deviation : none));
	cells_add(cells, value_text(series, style, series_median(series), none));
	if (!style->human)
		cells_add(cells, value_text(series, style, deviation, none));
	cells_add(cells, spread_text(series));
	cells_add(cells, value_text(series, style, series_least(series), none));
	cells_add(cells, value_text(series, style, series_most(series), none));
	cells_add(cells, notes_text(series, style));
}

static char *change_text(double change)
{
	return isnan(change) ? xstrdup("-") : xasprintf("%+.2f%%", 100 * change);
}

static char *verdict_text(const struct means *means, const struct means_row *row,
			  const struct style *style)
{
	const struct comparison *c = &row->comparison;
	size_t old = series_outliers(row->old), now = series_outliers(row->now);
	const bool differs = c->verdict == VERDICT_MORE || c->verdict == VERDICT_LESS;
	const enum mark mark = c->verdict == VERDICT_LESS && !c->above ? MARK_GOOD : MARK_BAD;
	const char *begin = differs || c->above ? style_mark(style, mark) : "";
	const char *end = *begin != '\0' ? style_mark(style, MARK_END) : "";
	char outliers[64] = "";

	if (c->reason != NULL)
		return xasprintf(" %s: %s", verdict_name(c->verdict), c->reason);
	if (old > 0 || now > 0)
		snprintf(outliers, sizeof(outliers), " # outliers: %zu old, %zu new", old, now);
	if (c->above)
		return xasprintf(" %smore: above the limit of %g%%%s%s", begin, 100 * means->limit,
				 end, outliers);
	return xasprintf(" %s%s%s%s%s", begin, verdict_name(c->verdict), end,
			 row->now->turns || row->old->turns ? " # in turns" : "", outliers);
}

static void add_comparison(struct cells *cells, const struct means *means,
			   const struct means_row *row, const struct style *style)
{
	size_t nold = row->old->n;

	cells_add(cells, escaped(row->now->label, ESCAPE_WORD));
	cells_add(cells, nold == row->now->n ? xasprintf("%zu", nold)
					     : xasprintf("%zu/%zu", nold, row->now->n));
	cells_add(cells, value_text(row->old, style, series_mean(row->old), (double)NAN));
	cells_add(cells, spread_text(row->old));
	cells_add(cells, value_text(row->now, style, series_mean(row->now), (double)NAN));
	cells_add(cells, spread_text(row->now));
	cells_add(cells, change_text(row->comparison.change));
	cells_add(cells, change_text(row->comparison.median_change));
	cells_add(cells, verdict_text(means, row, style));
}

void means_table(FILE *file, const struct style *style, const struct means *means)
{
	static const char *const titles[] = {"event",  "runs",	"mean", "median", "deviation",
					     "spread", "least", "most", ""};
	static const char *const compared[] = {"event",	 "runs",   "old",    "spread",	"new",
					       "spread", "change", "median", " verdict"};
	static const char *const human[] = {"event",  "runs",  "mean", "median",
					    "spread", "least", "most", ""};
	struct cells cells = {.ncolumns = style->human && !means->compared ? 8 : 9};

	if (means->n > 0 && !style->no_header)
		add_titles(&cells, means->compared ? compared : style->human ? human : titles);
	for (size_t i = 0; i < means->n; i++) {
		if (means->compared)
			add_comparison(&cells, means, &means->row[i], style);
		else
			add_means(&cells, means->row[i].now, style);
	}
	cells_write(&cells, file);
}
