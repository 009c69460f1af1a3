/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * view.h - the rows of the last interval, grouped and sorted for the screen.
 */
#ifndef VIEW_H
#define VIEW_H

#include "../../rows/sink.h"

/* Rows with their own texts and counts. */
struct rows {
	const struct run *run;
	size_t n, size;
	struct row *row;
};

struct view {
	const struct run *run;
	enum row_by by; /* groups of LWPs */
	size_t set;	/* that of the interval */
	unsigned sort;	/* index of an event of the set */
	bool paused;	/* the rows stay as they are */
	size_t nrows;	/* 0 with a total without counts: no interval is over */
	const struct row *row;
	struct row total;
	int64_t span_ns; /* length of the interval */
	/* Of view.c: */
	struct rows sample, grouped;
	struct sink *each; /* makes `sample` of rows of LWPs */
	size_t next_set;
	int64_t time_ns, last_ns; /* of the last tick row; of the sample before it */
	int64_t longest_ns;	  /* span of the rows since the last sample */
};

void view_init(struct view *view, enum row_by by);
void view_free(struct view *view);

/* For a sink; false: the view has not changed. */
void view_begin(struct view *view, const struct run *run);
void view_put(struct view *view, const struct row *row);
bool view_sampled(struct view *view);

static inline bool view_is_empty(const struct view *view)
{
	return view->total.val == NULL;
}

static inline const struct run_set *view_set(const struct view *view)
{
	return &view->run->set[view->set];
}

/* Groups the rows of LWPs by something else. */
void view_group(struct view *view, enum row_by by);
/* Sorts the rows by the event that is `step` further. */
void view_sort(struct view *view, int step);

#endif /* VIEW_H */
