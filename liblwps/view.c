/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * view.c - a map of the kernel in our memory.
 */
#include "view.h"

#include "../cmd/base/say.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST 65536 /* of all sizes that a page can have, a multiple */

static int map(struct view *view, size_t size)
{
	void *memory = mmap(NULL, size, view->prot, MAP_SHARED, view->fd, view->offset);

	if (memory == MAP_FAILED)
		return -1;
	view->memory = memory;
	view->mapped = size;
	return 0;
}

int view_open(struct view *view, int fd, off_t offset, size_t size, int prot)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	size = (size + page - 1) / page * page;
	*view = (struct view){.size = size, .fd = fd, .prot = prot, .offset = offset};
	return map(view, size < FIRST ? size : FIRST);
}

void view_close(struct view *view)
{
	if (view->memory != NULL)
		munmap(view->memory, view->mapped);
	view->memory = NULL;
}

void view_complete(struct view *view)
{
	struct view first = *view;

	if (map(view, view->size) == -1)
		die("%s", strerror(errno));
	view_close(&first);
}
