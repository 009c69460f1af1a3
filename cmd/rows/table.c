/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * table.c - tables with a line for each row.
 *
 * They have the format of Solaris, byte for byte.  With --names, each event has a column with its
 * name as the title, as wide as its contents.  On a terminal, command lines are cut at its width,
 * and each screen has the header.
 */
#include "../base/say.h"
#include "../base/util.h"
#include "line.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#define COUNT_WIDTH 9
#define KEY_WIDTH 24 /* longer keys widen the column */

struct column {
	char *title;  /* with the blank after it; as on Solaris, "pic10" has none */
	size_t width; /* of its counts; with names, it grows */
};

struct table {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	size_t ncols, nevents; /* columns; those of events, before those of ratios */
	struct column *col;
	size_t max_cols; /* at least ncols */
	unsigned *index; /* [set * max_cols + column]: 1 + event or ratio of the set; 0: empty */
	size_t cpu_width, pid_width, lwp_width, event_width, cycles_width, key_width;
	bool header_due;    /* no row has told the width of the keys yet */
	unsigned rows_left; /* until the next header; 0: print no more headers */
	bool stamped;	    /* the time of this sample was printed */
	struct line line;
};

/* ---- columns --------------------------------------------------------------------- */

/* Finds or adds a column from `first` on; it owns `title`. */
static size_t find_column(struct table *t, size_t first, char *title)
{
	size_t width = strlen(title) - 1;

	for (size_t c = first; c < t->ncols; c++) {
		if (strcmp(t->col[c].title, title) == 0) {
			free(title);
			return c;
		}
	}
	if (!t->style.names && width < COUNT_WIDTH)
		width = COUNT_WIDTH;
	else if (t->style.human && width < HUMAN_WIDTH)
		width = HUMAN_WIDTH;
	t->col = xrealloc(t->col, (t->ncols + 1) * sizeof(*t->col));
	t->col[t->ncols] = (struct column){.title = title, .width = width};
	return t->ncols++;
}

/* `style`: how the values are printed. */
static char *make_title(struct table *t, const struct style *style, const char *label)
{
	char *title;

	line_title(&t->line, style, label, 0);
	title = xasprintf("%.*s ", (int)t->line.n, t->line.text);
	t->line.n = 0;
	return title;
}

static size_t column_of_slot(struct table *t, unsigned slot)
{
	return find_column(
		t, 0, xasprintf(t->style.rate && !t->style.human ? "pic%u/s " : "pic%-2u", slot));
}

static size_t column_of_event(struct table *t, const struct run_event *event)
{
	return t->style.names ? find_column(t, 0, make_title(t, &t->style, event->label))
			      : column_of_slot(t, event->slot);
}

static size_t column_of_ratio(struct table *t, const struct run_ratio *ratio)
{
	static const struct style plain;

	return find_column(t, t->nevents, make_title(t, &plain, ratio->label));
}

/* Without names, the columns of events are the slots of all sets, ascending. */
static void find_columns(struct table *t)
{
	const struct run_set *set = t->run->set;
	const size_t nsets = t->run->nsets;
	uint64_t used = 0;

	for (size_t k = 0; k < nsets; k++) {
		t->max_cols += set[k].nevents + set[k].nratios;
		for (unsigned i = 0; i < set[k].nevents; i++)
			used |= UINT64_C(1) << set[k].event[i].slot;
	}
	t->index = xcalloc(nsets * t->max_cols, sizeof(*t->index));
	for (unsigned slot = 0; !t->style.names && slot < RUN_MAX_EVENTS; slot++) {
		if (used >> slot & 1)
			column_of_slot(t, slot);
	}
	for (size_t k = 0; k < nsets; k++) {
		for (unsigned i = 0; i < set[k].nevents; i++)
			t->index[k * t->max_cols + column_of_event(t, &set[k].event[i])] = i + 1;
	}
	t->nevents = t->ncols;
	for (size_t k = 0; k < nsets; k++) {
		for (unsigned i = 0; i < set[k].nratios; i++)
			t->index[k * t->max_cols + column_of_ratio(t, &set[k].ratio[i])] = i + 1;
	}
}

static void free_columns(struct table *t)
{
	for (size_t c = 0; c < t->ncols; c++)
		free(t->col[c].title);
	free(t->col);
	free(t->index);
	t->col = NULL;
	t->index = NULL;
	t->ncols = t->nevents = t->max_cols = 0;
}

/* ---- lines ----------------------------------------------------------------------- */

static struct winsize terminal_size(const struct table *t)
{
	struct winsize size = {0};

	if (t->style.terminal)
		ioctl(t->style.fd, TIOCGWINSZ, &size);
	return size;
}

/* With names, lines have no trailing blanks. */
static void write_line(struct table *t)
{
	while (t->style.names && t->line.n > 0 && t->line.text[t->line.n - 1] == ' ')
		t->line.n--;
	line_word(&t->line, "\n", 0);
	line_write(&t->line, t->file);
}

/* Appends a word and a blank. */
static void put_word(struct table *t, const char *word, size_t width)
{
	line_word(&t->line, word, width);
	line_blank(&t->line);
}

static void put_number(struct table *t, uint64_t val, size_t width)
{
	line_number(&t->line, val, false, width);
	line_blank(&t->line);
}

static bool has_keys(const struct table *t)
{
	return t->run->of_cpus && scope_has_names(t->run->scope);
}

static void put_header(struct table *t)
{
	const struct run *run = t->run;
	unsigned rows = terminal_size(t).ws_row;

	put_word(t, "time", 7);
	if (has_keys(t)) {
		line_left(&t->line, scope_name(run->scope), &t->key_width);
		line_blank(&t->line);
	} else if (run->of_cpus) {
		put_word(t,
			 t->style.names && run->scope != SCOPE_ALL ? scope_name(run->scope) : "cpu",
			 t->cpu_width);
	} else {
		if (run->many)
			put_word(t, "pid", t->pid_width);
		put_word(t, t->style.names && t->style.tids ? "tid" : "lwp", t->lwp_width);
		if (t->style.comm)
			put_word(t, "comm", COMM_WIDTH);
	}
	put_word(t, "event", t->event_width);
	if (t->style.cycles)
		put_word(t, run->cycles, t->cycles_width);
	for (size_t c = 0; c < t->ncols; c++)
		line_word(&t->line, t->col[c].title, t->col[c].width + 1);
	write_line(t);
	t->rows_left = rows > 2 ? rows - 2 : 0;
}

static void table_begin(struct sink *sink, const struct run *run)
{
	struct table *t = (struct table *)sink;

	free_columns(t);
	t->run = run;
	t->stamped = false;
	t->event_width = run->of_cpus && !t->style.names ? 5 : 10;
	t->key_width = KEY_WIDTH;
	find_columns(t);
	/* The first row tells how wide the keys are. */
	t->header_due = !t->style.no_header && has_keys(t);
	if (!t->style.no_header && !has_keys(t))
		put_header(t);
}

/* Puts the header of a table of keys, unless it is there.  `row` NULL: there is no row. */
static void put_due_header(struct table *t, const struct row *row)
{
	if (!t->header_due)
		return;
	t->header_due = false;
	if (row != NULL && row->key_width > t->key_width)
		t->key_width = row->key_width;
	put_header(t);
}

/* In the column of ids, a total has the number of CPUs, as on Solaris, or of processes. */
static void put_id(struct table *t, const struct row *row)
{
	const bool total = row->kind == ROW_TOTAL, names = t->style.names;

	if (has_keys(t)) {
		if (row->key_width > t->key_width)
			t->key_width = row->key_width;
		if (total)
			line_left(&t->line, scope_name(SCOPE_ALL), &t->key_width);
		else
			line_key(&t->line, &t->style, row, &t->key_width);
		line_blank(&t->line);
	} else if (t->run->of_cpus) {
		if (total && !names)
			put_number(t, row->ncpus, t->cpu_width);
		else if (total || row->scope == SCOPE_ALL)
			put_word(t, scope_name(SCOPE_ALL), t->cpu_width);
		else
			put_number(t, (uint64_t)row->id, t->cpu_width);
	} else {
		if (t->run->many && total && names)
			put_word(t, "all", t->pid_width);
		else if (t->run->many)
			put_number(t, total ? row->runs : (uint64_t)row->pid, t->pid_width);
		if (total)
			put_word(t, "-", t->lwp_width);
		else
			put_number(t, (uint64_t)(t->style.tids ? row->tid : row->lwp),
				   t->lwp_width);
		if (t->style.comm) {
			line_comm(&t->line, &t->style, row->comm, COMM_WIDTH);
			line_blank(&t->line);
		}
	}
	put_word(t, row_kind_name(row->kind == ROW_IMAGE ? ROW_EXEC : row->kind), t->event_width);
}

/* Ends the column that begins at `begin` of the line. */
static void end_column(struct table *t, size_t begin, size_t *width)
{
	if (t->style.names && t->line.n - begin > *width)
		*width = t->line.n - begin;
	line_blank(&t->line);
}

static void put_counts(struct table *t, const struct row *row)
{
	const unsigned *index = &t->index[row->set * t->max_cols];
	struct line *line = &t->line;
	size_t begin = line->n;

	if (t->style.cycles) {
		if (row->val == NULL)
			line_word(line, "", t->cycles_width);
		else
			line_cycles(line, &t->style, row, t->cycles_width);
		end_column(t, begin, &t->cycles_width);
	}
	for (size_t c = 0; c < t->ncols; c++) {
		struct column *col = &t->col[c];

		begin = line->n;
		if (row->val == NULL || index[c] == 0)
			line_word(line, "", col->width);
		else if (c < t->nevents)
			line_count(line, &t->style, t->run, row, index[c] - 1, col->width);
		else
			line_ratio(line, t->run, row, index[c] - 1, col->width);
		end_column(t, begin, &col->width);
	}
}

/* Describes how the process of an exit row ended. */
static void describe_end(const struct row *row, char *text, size_t size)
{
	if (WIFSIGNALED(row->status))
		snprintf(text, size, "signal %d: %s", WTERMSIG(row->status),
			 strsignal(WTERMSIG(row->status)));
	else
		snprintf(text, size, "status %d", WEXITSTATUS(row->status));
}

static void put_note(struct table *t, bool *first, const char *quote, const char *note)
{
	struct line *line = &t->line;
	char *text = escaped(note, ESCAPE_LINE);

	line_word(line, *first ? "# " : " # ", 0);
	line_word(line, quote, 0);
	line_word(line, text, 0);
	line_word(line, quote, 0);
	free(text);
	*first = false;
}

/*
 * Appends notes, each after a "#": the child of a fork, the command of an exec, the spec, the exit
 * status, "incomplete", "late".
 */
static void put_notes(struct table *t, const struct row *row)
{
	const bool specs = !t->style.names && t->run->nsets > 1;
	bool first = true;
	char text[128];

	if (row->kind == ROW_FORK) {
		snprintf(text, sizeof(text), "%d", (int)row->child);
		put_note(t, &first, "", text);
	}
	if (row->kind == ROW_IMAGE)
		put_note(t, &first, "'", row->command);
	if (specs && row->val != NULL)
		put_note(t, &first, "", t->run->set[row->set].spec);
	if (row->ended && t->style.comm) {
		describe_end(row, text, sizeof(text));
		put_note(t, &first, "", text);
	}
	if (row->incomplete) {
		line_word(&t->line, style_mark(&t->style, MARK_BAD), 0);
		put_note(t, &first, "", "incomplete");
		line_word(&t->line, style_mark(&t->style, MARK_END), 0);
	}
	if (row->late > 0) {
		snprintf(text, sizeof(text), "late %llu", (unsigned long long)row->late);
		put_note(t, &first, "", text);
	}
}

/* Prints a line with the time if the style has a stamp (-T u or d). */
static void put_stamp(const struct table *t, int64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / NSEC);
	char text[64];
	struct tm tm;

	if (t->style.stamp == 'u') {
		fprintf(t->file, "%lld\n", (long long)s);
	} else if (t->style.stamp == 'd') {
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Z %Y", localtime_r(&s, &tm));
		fprintf(t->file, "%s\n", text);
	}
}

/* Use it for command lines only: a cut count would be a wrong number. */
static void cut_line(struct table *t)
{
	size_t width = terminal_size(t).ws_col;

	if (width > 0 && t->line.n > width)
		t->line.n = width;
}

static void table_row(struct sink *sink, const struct row *row)
{
	struct table *t = (struct table *)sink;

	if (row->ncpus == 0 && t->run->of_cpus && row->kind == ROW_TICK)
		return; /* not counted; a message reported this */
	put_due_header(t, row);
	if (t->rows_left > 0 && --t->rows_left == 0 && !t->style.no_header)
		put_header(t);
	if (!t->stamped && row->kind == ROW_TICK)
		put_stamp(t, row->wall_ns);
	t->stamped = true;
	line_time(&t->line, row->time_ns);
	line_blank(&t->line);
	put_id(t, row);
	if (row->val != NULL || !t->style.names)
		put_counts(t, row);
	put_notes(t, row);
	if (row->kind == ROW_IMAGE)
		cut_line(t);
	write_line(t);
}

static void table_sampled(struct sink *sink)
{
	((struct table *)sink)->stamped = false;
}

static void table_end(struct sink *sink)
{
	put_due_header((struct table *)sink, NULL);
}

static void table_next_file(struct sink *sink, bool begins)
{
	struct table *t = (struct table *)sink;

	if (begins)
		table_begin(sink, t->run);
	else
		put_due_header(t, NULL);
}

static void table_free(struct sink *sink)
{
	struct table *t = (struct table *)sink;

	free_columns(t);
	line_free(&t->line);
}

struct sink *table_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = table_begin,
					    .row = table_row,
					    .sampled = table_sampled,
					    .end = table_end,
					    .next_file = table_next_file,
					    .free = table_free};
	struct table *t = sink_new(sizeof(*t), &ops, NULL);

	t->file = file;
	t->style = *style;
	t->cpu_width = style->names ? 6 : 3;
	t->pid_width = style->names ? 7 : 6;
	t->lwp_width = style->tids ? 7 : 3; /* the largest id on Linux is 4194304 */
	t->cycles_width = COUNT_WIDTH;
	return &t->sink;
}
