/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * text.h - what both forms of the table print alike.
 */
#ifndef TEXT_H
#define TEXT_H

#include "format.h"
#include "row.h"

/* A line that is being made; printf(3) of each column would take most of cpustat's time. */
struct line {
	char *text;
	size_t n, size;
};

void line_free(struct line *line);
/* Put words and numbers in columns of `width`, to the right; what is wider is not cut. */
void line_word(struct line *line, const char *word, size_t width);
void line_number(struct line *line, uint64_t val, bool minus, size_t width);
/* Seconds with three digits after the point, as by %7.3f. */
void line_time(struct line *line, int64_t ns);
void line_blank(struct line *line);
/* Writes the line and empties it. */
void line_write(struct line *line, FILE *f);

/* A count of a row as it is shown: scaled to its unit, a mean where the style wants that. */
void line_count(struct line *line, const struct style *style, const struct run *run,
		const struct row *row, unsigned i, size_t width);
/* The label of an event, escaped as one word, with what the style makes of its counts. */
void line_title(struct line *line, const struct style *style, const char *label, size_t width);
/* A ratio of its counts, with four digits that tell something. */
void line_ratio(struct line *line, const struct run *run, const struct row *row, unsigned i,
		size_t width);
void line_cycles(struct line *line, const struct style *style, const struct row *row, size_t width);

/* The label of an event or a ratio, escaped as one word. */
void line_label(struct line *line, const char *label, size_t width);

/* Printed and escaped, with blanks as \s, so that it is one word; "-": not known. */
void line_comm(struct line *line, const char *comm, size_t width);
#define COMM_WIDTH 15

/* The word of a row in the column "event". */
const char *row_word(enum row_kind kind);

/*
 * What follows the counts, each after a "#": the child, the command, with `specs` the
 * spec, with names also how the process ended, and that a total is incomplete.
 */
void line_notes(struct line *line, const struct run *run, const struct row *row,
		const struct style *style, bool specs);

/* A line with the time before each sample, if the style wants it. */
void put_stamp(FILE *f, const struct style *style, int64_t wall_time);

#endif /* TEXT_H */
