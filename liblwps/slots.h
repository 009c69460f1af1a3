/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slots.h - the slots of LWPs, in memory that is shared with the kernel.
 */
#ifndef SLOTS_H
#define SLOTS_H

#include "lwps.h"

struct slots {
	unsigned ncolumns, ncpus, nslots;
	unsigned nwords; /* of a slot behind its header */
	struct lwps_line *lines;
	uint64_t *recycled; /* slot numbers, which the kernel takes from its head... */
	uint32_t *tail;	    /* ...and we add to its tail */
	uint32_t mask;
};

/* A variable that the kernel changes, or sees. */
#define load(variable) __atomic_load_n(&(variable), __ATOMIC_ACQUIRE)
#define store(variable, value) __atomic_store_n(&(variable), value, __ATOMIC_RELEASE)

/* Words of a slot behind its header: totals, and owners if they are to be known. */
unsigned slots_words(const struct lwps_config *config);
/* How many lines they take, each and all together. */
unsigned slots_lines_each(unsigned nwords);
unsigned slots_lines(unsigned nwords, unsigned ncpus, unsigned nslots);

/* One that is not shared; valid until another one is asked for. */
struct lwps_slot *slots_at(struct slots *slots, unsigned slot);

/* As lwps_changed(), lwps_read() and lwps_release(). */
bool slots_changed(struct slots *slots, unsigned slot, uint64_t *state);
unsigned slots_read(struct slots *slots, unsigned slot, uint64_t *values);
void slots_release(struct slots *slots, unsigned slot);

#endif /* SLOTS_H */
