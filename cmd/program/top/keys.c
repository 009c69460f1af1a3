/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * keys.c - what the keys of the screen do.
 */
#include "page.h"

#include <ctype.h>
#include <curses.h>
#include <stdint.h>
#include <string.h>

#define ESCAPE 0x1b

/* The unit that a key means; SCOPE_NONE: none. */
static enum scope unit_of(const struct page *p, int key)
{
	const bool of_cpus = p->view.run->of_cpus;
	const enum scope by = p->view.by;

	switch (key) {
	case 'c':
		return SCOPE_COMMAND;
	case 'l':
		return of_cpus ? SCOPE_NONE : SCOPE_LWP;
	case 'p':
		if (!of_cpus)
			return SCOPE_PROCESS;
		return by >= SCOPE_CPU && by < SCOPE_ALL ? by + 1 : SCOPE_CPU;
	case 's':
		return of_cpus ? SCOPE_SERVICE : p->view.run->scope;
	case 'g':
		return of_cpus ? SCOPE_CGROUP : SCOPE_NONE;
	case 'o':
		return of_cpus ? SCOPE_CONTAINER : SCOPE_NONE;
	case 'u':
		return SCOPE_USER;
	default:
		return SCOPE_NONE;
	}
}

static void regroup(struct page *p, enum scope by)
{
	struct view *v = &p->view;

	if (by == SCOPE_NONE || by == v->by)
		return;
	p->first = 0;
	if (view_can_group(v, by)) {
		if (view_is_empty(v))
			return;
		view_group(v, by);
		page_find_columns(p);
	} else if (v->run->of_cpus) {
		p->wanted = by;
	}
}

/* Groups the same rows again, by what has changed. */
static void refresh_view(struct page *p)
{
	if (!view_is_empty(&p->view))
		view_group(&p->view, p->view.by);
}

/* Sorts by the next column whose title begins with a letter. */
static void sort_by_letter(struct page *p, int letter)
{
	size_t at = 0;

	if (view_is_empty(&p->view))
		return;
	for (size_t c = 0; c < p->list.n; c++)
		at = columns_is_sorted(&p->list, &p->list.col[c]) ? c : at;
	for (size_t i = 1; i <= p->list.n; i++) {
		const struct column *col = &p->list.col[(at + i) % p->list.n];

		if (col->kind == COLUMN_SHARE || col->kind == COLUMN_CPU ||
		    col->kind == COLUMN_CYCLES)
			continue;
		columns_cell(&p->list, col, NULL, &p->cell);
		if (toupper((unsigned char)*line_text(&p->cell)) != letter)
			continue;
		view_sort(&p->view, (struct sort_key){col->kind, col->i});
		return;
	}
}

/* A key of the filter; it acts at once. */
static void type(struct page *p, int key)
{
	char *filter = p->view.filter;
	const size_t n = strlen(filter);

	if (key == '\r' || key == '\n' || key == KEY_ENTER || key == ESCAPE)
		p->types = false;
	if (key == ESCAPE)
		*filter = '\0';
	else if ((key == KEY_BACKSPACE || key == '\b' || key == 0x7f) && n > 0)
		filter[n - 1] = '\0';
	else if (key >= ' ' && key <= '~' && n + 1 < sizeof(p->view.filter)) {
		filter[n] = (char)key;
		filter[n + 1] = '\0';
	}
	p->first = 0;
	refresh_view(p);
}

static void scroll_by_key(struct page *p, int key)
{
	const size_t page = p->nshown > 1 ? p->nshown - 1 : 1, back = key == KEY_UP ? 1 : page;

	if (key == KEY_HOME || key == KEY_END)
		page_scroll(p, key == KEY_HOME ? 0 : SIZE_MAX);
	else if (key == KEY_UP || key == KEY_PPAGE)
		page_scroll(p, p->first > back ? p->first - back : 0);
	else
		page_scroll(p, p->first + (key == KEY_DOWN ? 1 : page));
}

/* Keys that do not change the unit. */
static void act_on_view(struct page *p, int key)
{
	struct view *v = &p->view;

	switch (key) {
	case ' ':
	case 'f':
		v->frozen = !v->frozen;
		break;
	case '<':
	case KEY_LEFT:
		view_sort_next(v, -1);
		break;
	case '>':
	case KEY_RIGHT:
		view_sort_next(v, 1);
		break;
	case KEY_UP:
	case KEY_DOWN:
	case KEY_PPAGE:
	case KEY_NPAGE:
	case KEY_HOME:
	case KEY_END:
		scroll_by_key(p, key);
		break;
	case '/':
		p->types = true;
		break;
	case ESCAPE:
		*v->filter = '\0';
		refresh_view(p);
		break;
	case 'i':
		v->unfolded = !v->unfolded;
		refresh_view(p);
		break;
	default:
		if (key >= 'A' && key <= 'Z')
			sort_by_letter(p, key);
		else
			regroup(p, unit_of(p, key));
		break;
	}
}

bool page_act(struct page *p, int key)
{
	if (p->types)
		type(p, key);
	else if (key == 'q')
		return false;
	else if (p->help)
		p->help = false;
	else if (key == 'h' || key == '?')
		p->help = true;
	else if (key == ('L' & 0x1f))
		clearok(curscr, TRUE);
	else
		act_on_view(p, key);
	return true;
}
