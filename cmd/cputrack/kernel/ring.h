/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ring.h - take records out of the ring that the kernel fills.
 */
#ifndef RING_H
#define RING_H

#include "lwps.h"

struct ring {
	unsigned long *consumer;       /* a page that we write: how far we have read */
	const unsigned long *producer; /* a page that the kernel writes, and the data, twice */
	const char *data;
	size_t size;
	char args[LWPS_ARGS];
};

/* Map the ring of `size` bytes.  -1: errno. */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Take the next record; its args are in ring->args. */
bool ring_next(struct ring *ring, struct lwps_record *record);

bool ring_is_empty(const struct ring *ring);

#endif /* RING_H */
