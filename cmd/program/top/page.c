/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * page.c - draws what the screen shows, by ncurses(3).
 */
#include "page.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_LINE, TITLE_LINE, TOTAL_LINE, FIRST_LINE };

#define MIN_ROWS 4 /* with less space for rows, there is no line of keys */

enum look { PLAIN, TITLE, SORTED, TOTAL, BAD };

void page_find_columns(struct page *p)
{
	struct view *v = &p->view;
	bool sorted = false;

	columns_find(&p->list, v->run, v->run->of_cpus ? SCOPE_CPU : v->by, v->set);
	p->list.unit = v->by;
	p->list.sort = v->sort;
	for (size_t c = 0; c < p->list.n; c++)
		sorted |= columns_is_sorted(&p->list, &p->list.col[c]);
	if (!sorted)
		view_sort(v, (struct sort_key){COLUMN_EVENT, v->share});
}

void page_scroll(struct page *p, size_t first)
{
	const size_t nrows = p->view.nrows;
	const size_t most = nrows > p->nshown ? nrows - p->nshown : 0;

	p->first = first < most ? first : most;
}

void page_start_colours(struct page *p)
{
	if (!p->style->colour || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	p->colours = init_pair(TITLE, COLOR_BLACK, COLOR_CYAN) == OK &&
		     init_pair(SORTED, COLOR_BLACK, COLOR_YELLOW) == OK &&
		     init_pair(BAD, COLOR_RED, -1) == OK;
}

static int look_of(const struct page *p, enum look look)
{
	static const attr_t plain[] = {A_NORMAL, A_REVERSE, A_REVERSE | A_BOLD, A_BOLD, A_NORMAL};

	return (int)(p->colours && (look == TITLE || look == SORTED || look == BAD)
			     ? (attr_t)COLOR_PAIR(look)
			     : plain[look]);
}

/* Draws a row; NULL: the titles. */
static void draw_row(struct page *p, int y, const struct row *row, enum look look)
{
	bool first = true;

	move(y, 0);
	for (size_t c = 0; c < p->list.n; c++) {
		const struct column *col = &p->list.col[c];

		if (col->shown == 0)
			continue;
		attrset(look_of(p, look));
		if (!first)
			addch(' ');
		first = false;
		if (row == NULL && columns_is_sorted(&p->list, col))
			attrset(look_of(p, SORTED));
		p->line.n = 0;
		columns_append(&p->list, col, row, &p->cell, &p->line);
		addnstr(p->line.text, (int)p->line.n);
	}
	attrset(look_of(p, look));
	if (row == NULL && getcury(stdscr) == y)
		printw("%*s", COLS - getcurx(stdscr), "");
	attrset(look_of(p, BAD));
	if (row != NULL && row->incomplete && getcury(stdscr) == y &&
	    getcurx(stdscr) + (int)strlen(" # incomplete") <= COLS)
		addstr(" # incomplete");
	attrset(A_NORMAL);
}

/* Appends words to p->line if they fit. */
__attribute__((format(printf, 2, 3))) static void put_words(struct page *p, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->line.n + strlen(text) <= (size_t)COLS)
		line_word(&p->line, text, 0);
}

/* Makes p->cell the title of the column by which the rows are sorted. */
static const char *sorted_title(struct page *p)
{
	for (size_t c = 0; c < p->list.n; c++) {
		if (!columns_is_sorted(&p->list, &p->list.col[c]))
			continue;
		columns_cell(&p->list, &p->list.col[c], NULL, &p->cell);
		return line_text(&p->cell);
	}
	return "-";
}

/* Makes p->line the words of the first line. */
static void put_status(struct page *p)
{
	const struct view *v = &p->view;
	const size_t left = p->list.nleft;

	p->line.n = 0;
	put_words(p, "%.3f s", (double)v->total.time_ns / NSEC);
	if (p->first == 0)
		put_words(p, ", %zu of %zu rows", p->nshown, v->nrows);
	else
		put_words(p, ", rows %zu to %zu of %zu", p->first + 1, p->first + p->nshown,
			  v->nrows);
	if (left > 0)
		put_words(p, ", +%zu column%s", left, left == 1 ? "" : "s");
	if (*v->filter != '\0' || p->types)
		put_words(p, ", /%s%s", v->filter, p->types ? "_" : "");
	put_words(p, ", sorted by %s", sorted_title(p));
}

/* Draws as many of the words as fit, and fills the line. */
static void draw_keys(struct page *p, int y)
{
	static const char *const typing[] = {
		"type a part of the names",
		"Enter end",
		"Esc no filter",
		NULL,
	};
	static const char *const of_lwps[] = {
		"q quit",   "h help",	     "f freeze",	"/ filter",
		"< > sort", "arrows scroll", "c p l s u group", NULL,
	};
	static const char *const of_cpus[] = {
		"q quit",   "h help",	     "f freeze",	  "/ filter",
		"< > sort", "arrows scroll", "c s g o u p group", NULL,
	};
	const bool cpus = p->view.run->of_cpus;

	p->line.n = 0;
	for (const char *const *w = p->types ? typing : cpus ? of_cpus : of_lwps; *w != NULL; w++)
		put_words(p, "%s%s", p->line.n > 0 ? "  " : "", *w);
	attrset(look_of(p, TITLE));
	mvprintw(y, 0, "%-*.*s", COLS, (int)p->line.n, line_text(&p->line));
	attrset(A_NORMAL);
}

static void draw_message(const char *message)
{
	if (message != NULL)
		mvaddnstr(LINES - 1, 0, message, (int)strcspn(message, "\n"));
}

/* Finds the rows and the columns for which there is space. */
static void fit(struct page *p, size_t space)
{
	const struct view *v = &p->view;

	p->nshown = space < v->nrows ? space : v->nrows;
	page_scroll(p, p->first);
	p->list.sort = v->sort;
	columns_fit(&p->list, v->row + p->first, p->nshown, &v->total, (size_t)COLS, &p->line);
}

static void draw_rows(struct page *p)
{
	const struct view *v = &p->view;
	const char *message = say_held();
	int space = LINES - FIRST_LINE - (message != NULL);
	const bool keys = p->has_keys && space > MIN_ROWS;

	space -= keys;
	fit(p, space > 0 ? (size_t)space : 0);
	put_status(p);
	mvaddnstr(STATUS_LINE, 0, line_text(&p->line), (int)p->line.n);
	if (v->frozen && getcurx(stdscr) + (int)strlen(", FROZEN") <= COLS) {
		addstr(", ");
		attrset(look_of(p, SORTED));
		addstr("FROZEN");
		attrset(A_NORMAL);
	}
	draw_row(p, TITLE_LINE, NULL, TITLE);
	draw_row(p, TOTAL_LINE, &v->total, TOTAL);
	for (size_t i = 0; i < p->nshown; i++)
		draw_row(p, FIRST_LINE + (int)i, &v->row[p->first + i], PLAIN);
	if (keys)
		draw_keys(p, LINES - 1 - (message != NULL));
	draw_message(message);
}

/* Do rows of LWPs have services, or cgroups or containers, and users? */
static bool has_owners(const struct page *p)
{
	return !p->view.run->of_cpus && scope_has_keys(p->view.run->scope);
}

static void draw_help(const struct page *p)
{
	int y = 0;

	mvaddstr(y++, 0, "up, down, page up, page down, home, end");
	mvaddstr(y++, 0, "       scroll");
	mvaddstr(y++, 0, "/      show only names that contain some text; Esc ends it");
	mvaddstr(y++, 0, "< >    sort by another event; so do left and right");
	mvaddstr(y++, 0, "A-Z    sort by the next column whose title begins so");
	if (!p->view.run->of_cpus)
		mvaddstr(y++, 0, "c p l  by command, process, LWP");
	if (has_owners(p))
		mvprintw(y++, 0, "s u    by %s, user", scope_name(p->view.run->scope));
	if (p->view.run->of_cpus) {
		mvaddstr(y++, 0, "c s g  by command, service, cgroup: counts anew");
		mvaddstr(y++, 0, "o u    by container, user: counts anew");
		mvaddstr(y++, 0, "p      by CPU; again: core, socket, node, kind of core, all");
	}
	mvaddstr(y++, 0, "i      show idle rows, too");
	mvaddstr(y++, 0, "f      freeze what is shown, while counting goes on; so does space");
	mvaddstr(y++, 0, "^L     draw again");
	mvaddstr(y++, 0, "q      quit");
	mvaddstr(y, 0, "h ?    this help; any key ends it");
}

void page_draw(struct page *p)
{
	erase();
	if (p->help) {
		draw_help(p);
	} else if (!view_is_empty(&p->view)) {
		draw_rows(p);
	} else {
		mvaddnstr(STATUS_LINE, 0, "The first interval is not over.", COLS);
		draw_message(say_held());
	}
	refresh();
}

void page_print(struct page *p, FILE *file)
{
	const struct view *v = &p->view;

	if (view_is_empty(v) || p->list.n == 0)
		return;
	fit(p, p->nshown); /* the last interval may not have been drawn */
	put_status(p);
	fprintf(file, "%s\n", line_text(&p->line));
	for (size_t i = 0; i < p->nshown + 2; i++) {
		const struct row *row = i == 0	 ? NULL
					: i == 1 ? &v->total
						 : &v->row[p->first + i - 2];

		p->line.n = 0;
		for (size_t c = 0; c < p->list.n; c++) {
			if (p->list.col[c].shown == 0)
				continue;
			if (p->line.n > 0)
				line_blank(&p->line);
			columns_append(&p->list, &p->list.col[c], row, &p->cell, &p->line);
		}
		if (row != NULL && row->incomplete)
			line_word(&p->line, " # incomplete", 0);
		fprintf(file, "%s\n", line_text(&p->line));
	}
}
