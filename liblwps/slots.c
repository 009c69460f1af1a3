/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slots.c - read and give back slots of LWPs.
 */
#include "slots.h"

#include <string.h>

unsigned slots_words(const struct lwps_config *config)
{
	return config->ncolumns + (config->owners != 0 ? LWPS_OWNER_WORDS : 0);
}

unsigned slots_lines_each(unsigned nwords)
{
	return (LWPS_HEADER_WORDS + nwords + LWPS_LINE_WORDS - 1) / LWPS_LINE_WORDS;
}

unsigned slots_lines(unsigned nwords, unsigned ncpus, unsigned nslots)
{
	return (LWPS_OF_CPU * ncpus + nslots) * slots_lines_each(nwords);
}

/* The slot at a place in memory, where the slots of the CPUs come first: LWPS_OF_CPU of each. */
static struct lwps_slot *at_place(struct slots *slots, unsigned place)
{
	return (struct lwps_slot *)&slots->lines[place * slots_lines_each(slots->nwords)];
}

struct lwps_slot *slots_at(struct slots *slots, unsigned slot)
{
	return at_place(slots, LWPS_OF_CPU * slots->ncpus + slot);
}

/* A CPU's part of the shared slot. */
static struct lwps_slot *shared_slot(struct slots *slots, unsigned cpu)
{
	return at_place(slots, LWPS_OF_CPU * cpu + LWPS_CPU_SHARED);
}

/* Returns its flaws. */
static unsigned read_one(const struct slots *slots, const struct lwps_slot *s, uint64_t *values)
{
	uint32_t sequence;
	unsigned i;

	do {
		sequence = load(s->sequence);
		for (i = 0; i < slots->ncolumns; i++)
			values[i] = __atomic_load_n(&s->total[i], __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (sequence & 1 || sequence != __atomic_load_n(&s->sequence, __ATOMIC_RELAXED));
	return load(s->flaws);
}

static unsigned read_shared(struct slots *slots, uint64_t *values)
{
	uint64_t part[LWPS_MAX_COLUMNS];
	unsigned i, cpu, flaws = 0;

	memset(values, 0, slots->ncolumns * sizeof(*values));
	for (cpu = 0; cpu < slots->ncpus; cpu++) {
		flaws |= read_one(slots, shared_slot(slots, cpu), part);
		for (i = 0; i < slots->ncolumns; i++)
			values[i] += part[i];
	}
	return flaws;
}

bool slots_changed(struct slots *slots, unsigned slot, uint64_t *state)
{
	const uint64_t before = *state;
	const struct lwps_slot *s;

	if (slot == LWPS_SHARED)
		return true;
	s = slots_at(slots, slot);
	*state = load(s->sequence) | (uint64_t)load(s->flaws) << 32;
	return *state != before;
}

unsigned slots_read(struct slots *slots, unsigned slot, uint64_t *values)
{
	if (slot == LWPS_SHARED)
		return read_shared(slots, values);
	return read_one(slots, slots_at(slots, slot), values);
}

void slots_release(struct slots *slots, unsigned slot)
{
	const uint32_t tail = *slots->tail;

	if (slot == LWPS_SHARED || slot >= slots->nslots)
		return;
	memset(slots_at(slots, slot), 0,
	       slots_lines_each(slots->nwords) * sizeof(struct lwps_line));
	slots->recycled[tail & slots->mask] = slot;
	store(*slots->tail, tail + 1);
}
