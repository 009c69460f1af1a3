/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * line.c - lines of tables.
 */
#include "line.h"

#include "../base/say.h"
#include "../base/util.h"

#include <bsd/string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS 32 /* the compiler inlines memset(3) of a constant size */

/* Makes room for `n` more characters. */
static char *reserve(struct line *line, size_t n)
{
	if (line->text == NULL || line->size - line->n < n) {
		line->size = (line->n + n + 1) * 2;
		line->text = xrealloc(line->text, line->size);
	}
	return line->text + line->n;
}

/* Appends a column of `width` and returns where its `n` characters go, right-aligned. */
static char *append_column(struct line *line, size_t n, size_t width)
{
	size_t pad = n < width ? width - n : 0;
	char *to = reserve(line, pad + n + BLANKS);

	if (pad <= BLANKS)
		memset(to, ' ', BLANKS);
	else
		memset(to, ' ', pad);
	line->n += pad + n;
	return to + pad;
}

void line_free(struct line *line)
{
	free(line->text);
	*line = (struct line){0};
}

void line_write(struct line *line, FILE *f)
{
	fwrite_unlocked(line->text, 1, line->n, f);
	line->n = 0;
}

void line_word(struct line *line, const char *word, size_t width)
{
	size_t n = strlen(word);

	memcpy(append_column(line, n, width), word, n);
}

static unsigned digits(uint64_t val)
{
	unsigned n = 1;

	for (; val >= 10; val /= 10)
		n++;
	return n;
}

void line_number(struct line *line, uint64_t val, bool minus, size_t width)
{
	size_t n = digits(val) + minus;
	char *at = append_column(line, n, width) + n;

	do
		*--at = (char)('0' + val % 10);
	while ((val /= 10) != 0);
	if (minus)
		*--at = '-';
}

void line_time(struct line *line, int64_t ns)
{
	uint64_t ms = ((uint64_t)ns + NSEC / 2000) / (NSEC / 1000);
	unsigned rest = (unsigned)(ms % 1000);
	const char text[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			     (char)('0' + rest % 10)};

	line_number(line, ms / 1000, false, 3);
	memcpy(append_column(line, sizeof(text), 0), text, sizeof(text));
}

void line_blank(struct line *line)
{
	*reserve(line, 1) = ' ';
	line->n++;
}

const char *line_text(struct line *line)
{
	*reserve(line, 1) = '\0';
	return line->text;
}

static void put_real(struct line *line, double val, size_t width)
{
	char text[400]; /* the largest double has 309 digits */

	snprintf(text, sizeof(text), "%.2f", val);
	line_word(line, text, width);
}

void human_text(char *text, size_t size, double val, double deviation, bool clock,
		const char *with_unit)
{
	static const char *const prefixes[] = {"", "K", "M", "G", "T", "P", "E"};
	static const char *const times[] = {"ns", "us", "ms", "s"};
	const char *const *unit = clock ? times : prefixes;
	size_t n = clock ? sizeof(times) / sizeof(*times) : sizeof(prefixes) / sizeof(*prefixes);
	size_t i = 0, most = !clock && *with_unit != '\0' ? 1 : n; /* no prefix before a unit */
	double scale = 1, most_digits = clock ? 999.5 : 99999.5;
	char suffix[64];
	int digits, len;

	/* %.0f would print 999.5 as 1000. */
	for (; i + 1 < most && fabs(val / scale) >= most_digits; i++) {
		scale *= 1000;
		most_digits = 999.5;
	}
	val /= scale;
	digits = (i == 0 && val == floor(val)) || fabs(val) >= 99.95 ? 0
		 : fabs(val) >= 9.995				     ? 1
								     : 2;
	escape_text(suffix, sizeof(suffix), clock ? "" : with_unit,
		    ESCAPE_WORD); /* records can have any unit */
	len = snprintf(text, size, "%.*f%s%s", digits, val, unit[i], suffix);
	if (!isnan(deviation))
		snprintf(text + len, size - (size_t)len, " +- %.*f",
			 digits == 0 && deviation != 0 ? 1 : digits, deviation / scale);
}

/* Nanoseconds of CPU time per second are CPUs. */
static void put_human(struct line *line, const struct style *style, double val,
		      const struct run_event *event, size_t width)
{
	char text[HUMAN_SIZE];
	bool clock = run_event_is_clock(event);

	if (clock && style->rate)
		human_text(text, sizeof(text), val / NSEC * 100, (double)NAN, false,
			   run_event_is_wait(event) ? "%WAIT" : "%CPU");
	else
		human_text(text, sizeof(text), val, (double)NAN, clock, event->unit);
	if (!clock && style->rate)
		strlcat(text, "/s", sizeof(text));
	line_word(line, text, width);
}

const char *style_mark(const struct style *style, enum mark mark)
{
	static const char *const texts[] = {
		[MARK_BAD] = "\033[31m", [MARK_GOOD] = "\033[32m", [MARK_END] = "\033[m"};

	return style->colour ? texts[mark] : "";
}

/* For -m: the number of CPUs to divide counts by; 0: do not divide. */
static unsigned divisor(const struct style *style, const struct row *row)
{
	return style->means && row->kind == ROW_TICK && row->scope != SCOPE_CPU ? row->ncpus : 0;
}

/* Applies -m and --rate to a count. */
static double apply_style(const struct style *style, const struct row *row, double val)
{
	unsigned n = divisor(style, row);

	if (n > 0)
		val /= n;
	return style->rate ? val / (double)row->span_ns * NSEC : val;
}

void line_count(struct line *line, const struct style *style, const struct run *run,
		const struct row *row, unsigned i, size_t width)
{
	const struct run_event *event = &run->set[row->set].event[i];
	uint64_t val = row->val[i];
	bool minus = event->is_signed && (int64_t)val < 0;
	double real = count_real(event, val) * event->scale;

	if ((row->valid >> i & 1) == 0 || (style->rate && row->span_ns <= 0))
		line_word(line, "-", width);
	else if (style->human)
		put_human(line, style, apply_style(style, row, real), event, width);
	else if (event->scale != 1 || style->rate || divisor(style, row) > 0)
		put_real(line, apply_style(style, row, real),
			 width); /* a scale of exactly 1: no unit */
	else
		line_number(line, minus ? -val : val, minus, width);
}

void line_ratio(struct line *line, const struct run *run, const struct row *row, unsigned i,
		size_t width)
{
	double val = row_ratio(run, row, i), size = fabs(val);
	char text[400] = "-";

	if (!isnan(val))
		snprintf(text, sizeof(text),
			 size >= 1000		       ? "%.1f"
			 : size >= 0.99995 || val == 0 ? "%.3f" /* %.4g would print 1 */
						       : "%.4g",
			 val);
	line_word(line, text, width);
}

void line_cycles(struct line *line, const struct style *style, const struct row *row, size_t width)
{
	unsigned n = divisor(style, row);
	char text[HUMAN_SIZE];

	if (row->valid == 0) {
		line_word(line, "-", width);
	} else if (style->human) {
		human_text(text, sizeof(text), (double)row->cycles / (n > 0 ? n : 1), (double)NAN,
			   false, "");
		line_word(line, text, width);
	} else if (n > 0) {
		put_real(line, (double)row->cycles / n, width);
	} else {
		line_number(line, row->cycles, false, width);
	}
}

void line_label(struct line *line, const char *label, size_t width)
{
	char *text = escaped(label, ESCAPE_WORD);

	line_word(line, text, width);
	free(text);
}

void line_title(struct line *line, const struct style *style, const char *label, size_t width)
{
	char *title = xasprintf("%s%s", label, style->rate && !style->human ? "/s" : "");

	line_label(line, title, width);
	free(title);
}

static enum escape how_of(const struct style *style)
{
	return style->terminal ? ESCAPE_LINE : ESCAPE_WORD;
}

void line_comm(struct line *line, const struct style *style, const char *comm, size_t width)
{
	char *text = escaped(comm != NULL && *comm != '\0' ? comm : "-", how_of(style));

	line_word(line, text, width);
	free(text);
}

void line_left(struct line *line, const char *word, size_t *width)
{
	const size_t n = strlen(word);

	line_word(line, word, 0);
	if (n > *width)
		*width = n;
	line_word(line, "", *width - n);
}

void line_key(struct line *line, const struct style *style, const struct row *row, size_t *width)
{
	char *text = row_key_text(row, how_of(style));

	line_left(line, text, width);
	free(text);
}

/* ---- cells ----------------------------------------------------------------------- */

void cells_add(struct cells *cells, char *text)
{
	if (cells->n == cells->size) {
		cells->size = cells->size * 2 + 64;
		cells->text = xrealloc(cells->text, cells->size * sizeof(*cells->text));
	}
	cells->text[cells->n++] = text;
}

void cells_write(struct cells *cells, FILE *f)
{
	size_t *width = xcalloc(cells->ncolumns, sizeof(*width));
	struct line line = {0};

	for (size_t i = 0; i < cells->n; i++) {
		size_t n = strlen(cells->text[i]), column = i % cells->ncolumns;

		width[column] = n > width[column] ? n : width[column];
	}
	for (size_t i = 0; i < cells->n; i++) {
		const char *text = cells->text[i];
		size_t column = i % cells->ncolumns;
		bool is_note = column + 1 == cells->ncolumns;

		if (column > 0 && !(is_note && *text == '\0'))
			line_blank(&line);
		line_word(&line, text, is_note ? 0 : width[column]);
		if (!is_note)
			continue;
		line_word(&line, "\n", 0);
		line_write(&line, f);
	}
	line_free(&line);
	free(width);
	cells_free(cells);
}

void cells_free(struct cells *cells)
{
	for (size_t i = 0; i < cells->n; i++)
		free(cells->text[i]);
	free(cells->text);
	cells->text = NULL;
	cells->n = cells->size = 0;
}
