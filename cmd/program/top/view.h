/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * view.h - the rows of the last interval, grouped and sorted for the screen.
 */
#ifndef VIEW_H
#define VIEW_H

#include "../../rows/columns.h"
#include "../../rows/deltas.h"
#include "../../rows/rows.h"

struct view {
	const struct run *run;
	enum scope by; /* groups of LWPs, or of CPUs: cores, sockets, ... */
	bool cycles;   /* rows show cycles */
	size_t set;    /* the set that the interval counted */
	struct sort_key sort;
	unsigned share;	 /* of this event of the set are the shares */
	bool frozen;	 /* the rows stay as they are, while counting goes on */
	char filter[64]; /* only rows whose name contains this; "": all */
	bool unfolded;	 /* idle rows are shown, too */
	size_t nrows;	 /* without the total */
	const struct row *row;
	struct row total;
	int64_t span_ns; /* length of the interval */
	/* Private to view.c: */
	struct rows sample, grouped;
	struct deltas deltas; /* of LWPs */
	struct sink *taker;   /* puts what they counted into `sample` */
	bool over;	      /* the interval of `sample` */
	size_t next_set;
	int64_t time_ns, last_ns; /* of the last tick row; of the sample before it */
	int64_t longest_ns;	  /* span of the rows since the last sample */
};

void view_init(struct view *view, enum scope by, bool cycles);
void view_free(struct view *view);

/* For a sink. */
void view_begin(struct view *view, const struct run *run);
void view_put(struct view *view, const struct row *row);
bool view_sampled(struct view *view); /* false: the view has not changed */

/* No interval is over yet. */
static inline bool view_is_empty(const struct view *view)
{
	return view->total.val == NULL;
}

static inline const struct run_set *view_set(const struct view *view)
{
	return &view->run->set[view->set];
}

/* Can the rows be grouped by this without counting anew? */
bool view_can_group(const struct view *view, enum scope by);
/* Makes the rows anew: for another unit, or another filter. */
void view_group(struct view *view, enum scope by);
void view_sort(struct view *view, struct sort_key sort);
/* Sorts by another event or ratio, `step` columns to the right. */
void view_sort_next(struct view *view, int step);

#endif /* VIEW_H */
