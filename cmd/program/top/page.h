/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * page.h - what the screen shows, and what keys change of it.
 */
#ifndef PAGE_H
#define PAGE_H

#include "view.h"

#include <stdbool.h>
#include <stdio.h>

struct page {
	const struct style *style;
	bool has_keys, colours;
	bool help;	   /* it shows the help */
	bool types;	   /* keys are those of the filter */
	size_t first;	   /* the row at the top */
	size_t nshown;	   /* the number of rows that it shows */
	enum scope wanted; /* a key asks for a run by this unit; or SCOPE_NONE */
	struct view view;
	struct columns list;
	/* Private to page.c and keys.c: */
	struct line line, cell;
};

/* Call it when the unit or the set of the view has changed. */
void page_find_columns(struct page *page);
/* Makes `first` the row at the top, or the last one that leaves no space below the rows. */
void page_scroll(struct page *page, size_t first);

/* False: the user asks for the end. */
bool page_act(struct page *page, int key);

/* When ncurses has been started: */
void page_start_colours(struct page *page);
void page_draw(struct page *page);

/* Prints the same as a table. */
void page_print(struct page *page, FILE *file);

#endif /* PAGE_H */
