/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * view.h - a map of the kernel in our memory.
 *
 * The kernel maps all pages at once, and each takes its time; most runs need the first ones.  So
 * only those are there until others are asked for.
 */
#ifndef VIEW_H
#define VIEW_H

#include <stddef.h>
#include <sys/types.h>

struct view {
	char *memory; /* NULL: it is not open */
	size_t mapped, size;
	int fd, prot;
	off_t offset;
};

/*
 * `size` bytes of the map `fd`, which stays open, from `offset` on; `prot` is as of mmap(2).
 * -1: errno.
 */
int view_open(struct view *view, int fd, off_t offset, size_t size, int prot);
void view_close(struct view *view);

/* Map all of it.  No memory ends the program. */
void view_complete(struct view *view);

/* `size` bytes of it.  They are elsewhere once others were asked for. */
static inline void *view_at(struct view *view, size_t offset, size_t size)
{
	if (offset + size > view->mapped)
		view_complete(view);
	return view->memory + offset;
}

#endif /* VIEW_H */
