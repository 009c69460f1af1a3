/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ring.h - take records out of the ring that the kernel fills.
 */
#ifndef RING_H
#define RING_H

#include "lwps.h"

struct ring {
	unsigned long *consumer; /* a page that we write: our position */
	const char *producer;	 /* a page with the kernel's position, then the data */
	size_t page, size;
	/* A copy of the last record. */
	struct {
		struct lwps_raw_exec exec;
		char args[LWPS_ARGS];
	} record;
};

/* Map the ring of `size` bytes.  -1: errno. */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Take the next record, which is valid until the next call.  NULL: the ring is empty. */
const struct lwps_raw *ring_next(struct ring *ring);

/* Translate a record; `slot` is the slot that it names, or NULL. */
void ring_translate(const struct lwps_raw *raw, const struct lwps_slot *slot,
		    struct lwps_record *record);

bool ring_is_empty(const struct ring *ring);

#endif /* RING_H */
