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
/* Writes the line and empties it. */
void line_write(struct line *line, FILE *f);

/* Appends count `i` of a row in its unit; by style a mean, a rate or three digits. */
void line_count(struct line *line, const struct style *style, const struct run *run,
		const struct row *row, unsigned i, size_t width);
/* Does the event count nanoseconds on a CPU? */
bool line_is_clock(const struct run_event *event);

/* At least three digits, as one escaped word: 999, 12.3K, 1.50ms, 45.6MiB, 1250Joules. */
void human_text(char *text, size_t size, double val, bool clock, const char *unit);
#define HUMAN_SIZE 480 /* the largest double has 309 digits */

/* Appends the label of an event as one escaped word, with "/s" for rates. */
void line_title(struct line *line, const struct style *style, const char *label, size_t width);
/* Appends ratio `i` of a row, with four significant digits. */
void line_ratio(struct line *line, const struct run *run, const struct row *row, unsigned i,
		size_t width);
void line_cycles(struct line *line, const struct style *style, const struct row *row, size_t width);

/* Appends a label as one escaped word. */
void line_label(struct line *line, const char *label, size_t width);

/* Appends the name of an LWP as one escaped word, with blanks as \s; "-": unknown. */
void line_comm(struct line *line, const char *comm, size_t width);
#define COMM_WIDTH 15

/*
 * Appends the key of a row, or the title of its column, left-aligned as one escaped word.  `*width`
 * is the width of the column, which grows.
 */
void line_key(struct line *line, const char *key, size_t *width);
void line_key_of_row(struct line *line, const struct row *row, size_t *width);
#define KEY_WIDTH 24 /* at first */

/* The word for the column "event". */
const char *line_event(enum row_kind kind);

/*
 * Appends notes, each after a "#": the child of a fork, the command of an exec, with `specs` the
 * spec, by style the exit status, and "incomplete".
 */
void line_notes(struct line *line, const struct run *run, const struct row *row,
		const struct style *style, bool specs);

/* Prints a line with the time if the style has a stamp (-T u or d). */
void line_stamp(FILE *f, const struct style *style, int64_t wall_ns);

#endif /* LINE_H */
