/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * line.h - lines of tables.
 */
#ifndef LINE_H
#define LINE_H

#include "format.h"
#include "row.h"

/* Collects a line: one printf(3) per column would take most of the CPU time of cpustat. */
struct line {
	char *text;
	size_t n, size;
};

void line_free(struct line *line);
/* Append a word or a number, right-aligned in a column of `width`; a wider one is not cut. */
void line_word(struct line *line, const char *word, size_t width);
void line_number(struct line *line, uint64_t val, bool minus, size_t width);
/* Appends seconds as %7.3f does. */
void line_time(struct line *line, int64_t ns);
void line_blank(struct line *line);
/* The line as a string, until the next call for it. */
const char *line_text(struct line *line);
/* Writes the line and empties it. */
void line_write(struct line *line, FILE *f);

/* Appends count `i` of a row in its unit; by style a mean, a rate or three digits. */
void line_count(struct line *line, const struct style *style, const struct run *run,
		const struct row *row, unsigned i, size_t width);

/*
 * For people, as escaped text: 999, 12345, 123K, 1.50ms, 1250Joules.  A count below 100000 is
 * complete, since 12.3K would be no shorter.  `deviation`: appends it in the same unit, as in
 * 1.50ms +- 0.02; NaN: it does not.
 */
void human_text(char *text, size_t size, double val, double deviation, bool clock,
		const char *unit);
#define HUMAN_SIZE 800 /* the largest double has 309 digits */
#define HUMAN_WIDTH 8  /* of most of them */

/* The escape sequence that begins or ends a mark; "" without colours. */
enum mark { MARK_BAD, MARK_GOOD, MARK_END };
const char *style_mark(const struct style *style, enum mark mark);

/* Appends the label of an event as one escaped word, with "/s" for rates in digits. */
void line_title(struct line *line, const struct style *style, const char *label, size_t width);
/* Appends ratio `i` of a row, with four significant digits. */
void line_ratio(struct line *line, const struct run *run, const struct row *row, unsigned i,
		size_t width);
void line_cycles(struct line *line, const struct style *style, const struct row *row, size_t width);

/* Appends a label as one escaped word. */
void line_label(struct line *line, const char *label, size_t width);

/*
 * Appends the name of an LWP, escaped; "-": unknown.  Only a terminal gets blanks: else \s stands
 * for them, so that the name is one word.
 */
void line_comm(struct line *line, const struct style *style, const char *comm, size_t width);
#define COMM_WIDTH 15 /* of the longest name */

/*
 * Append the key of a row, as row_key_text() writes it, or another word, left-aligned.  `*width` is
 * the width of the column, which grows.
 */
void line_key(struct line *line, const struct style *style, const struct row *row, size_t *width);
void line_left(struct line *line, const char *word, size_t *width);

/*
 * A table that is printed at its end, when the widths of all columns are known.  Cells are in the
 * order of the lines.  The last one of a line is a note, which may be empty.
 */
struct cells {
	size_t ncolumns, n, size;
	char **text;
};

/* Appends a cell, which owns `text`. */
void cells_add(struct cells *cells, char *text);
/* Writes the lines, each column as wide as its widest cell, and frees the cells. */
void cells_write(struct cells *cells, FILE *f);
void cells_free(struct cells *cells);

#endif /* LINE_H */
