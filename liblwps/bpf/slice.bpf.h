/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slice.bpf.h - slices: the counts of a CPU between two moments, charged to one slot.
 */
#ifndef SLICE_BPF_H
#define SLICE_BPF_H

#include "state.bpf.h"

/* Other CPUs see the stores before this one before those after it. */
static __always_inline void fence(struct lwps_cpu *c)
{
	if (weak_order)
		__sync_fetch_and_add(&c->fence, 1); /* it returns a value: a full barrier */
	barrier();
}

/* How a slice ends: bits. */
enum ending {
	GOES_ON = 0,	  /* its LWP runs on */
	SWITCHES = 1,	  /* another task follows... */
	LEAVES_CGROUP = 2 /* ...of another cgroup */
};

/* The counts of column @i on this CPU since the last call. */
static __always_inline __u64 advance(struct lwps_cpu *c, __u32 i, __u64 now, __u32 ending,
				     __u32 *flaws)
{
	__u64 before;

	switch (kind[i]) {
	case LWPS_SOFTWARE:
		return load_event(&c->start[i], i, flaws);
	case LWPS_CPU:
		return read_event(&c->start[i], i, flaws);
	case LWPS_CLOCK:
		before = c->start[i].value;
		c->start[i].value = now;
		return now - before;
	case LWPS_FUNCTION:
		before = c->start[i].value;
		c->start[i].value = *(volatile __u64 *)&c->start[i].calls;
		return c->start[i].value - before;
	case LWPS_SWITCH:
		return !!(ending & SWITCHES);
	case LWPS_CGROUP:
		return !!(ending & LEAVES_CGROUP);
	case LWPS_SLICE:
		return LWPS_SLICE_NS;
	default:
		return c->migrated;
	}
}

/* End the slice of this CPU, charge it to @slot (LWPS_NONE: to no LWP), and begin another. */
__noinline int charge_slice(struct lwps_cpu *c, __u32 slot, __u32 ending)
{
	__u32 i, n, flaws = 0, key = first_line(slot);
	/* Reading the clock takes 60 ns in some virtual machines. */
	const __u64 now = reads_clock ? bpf_ktime_get_ns() : 0;
	struct lwps_line *line;
	struct lwps_slot *s;

	line = bpf_map_lookup_elem(&slots, &key);
	s = (void *)line;
	if (!c || !s)
		return 0;
	s->sequence++;
	fence(c);
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++) {
		n = LWPS_HEADER_WORDS + i;
		if (n % LWPS_LINE_WORDS == 0) {
			key++;
			line = bpf_map_lookup_elem(&slots, &key);
			if (!line)
				return 0;
		}
		if (nturns > 1 && turn_of[i] != c->turn)
			continue;
		line->word[n % LWPS_LINE_WORDS] += advance(c, i, now, ending, &flaws);
	}
	fence(c);
	s->sequence++;
	c->migrated = 0;
	flaws |= c->flaws;
	c->flaws = 0;
	if (unlikely(flaws))
		__sync_fetch_and_or(&s->flaws, flaws);
	return 0;
}

/*
 * @t runs on this CPU from now on; it is tracked if @l is not NULL.  The kernel's own count of its
 * switches shows whether on_switch() has seen all of them.
 */
static __always_inline void switch_in(struct lwps_cpu *c, struct task_struct *t, struct lwp *l)
{
	__u64 switches;
	__u32 cpu;

	c->task = (__u64)t;
	c->cgroup = perf_cgroup_of(t);
	c->tracked = l != NULL;
	c->slot = LWPS_NONE;
	if (!l)
		return;
	c->slot = charged(l);
	c->exec_id = l->exec_id;
	switches = t->nvcsw + t->nivcsw;
	if (unlikely(l->counted && l->switches != switches)) {
		__sync_fetch_and_add(&missed, 1);
		c->flaws |= LWPS_NO_SWITCH;
	}
	l->counted = 1;
	l->switches = switches + 1;
	cpu = bpf_get_smp_processor_id();
	c->migrated = l->cpu != cpu && l->cpu != LWPS_NONE;
	l->cpu = cpu;
}

/*
 * The kernel did not report a switch: when this CPU's slice ended and that of @slot began is
 * unknown.
 */
static __always_inline void lose_switch(struct lwps_cpu *c, __u32 slot)
{
	if (slot == LWPS_NONE && c->slot == LWPS_NONE)
		return;
	__sync_fetch_and_add(&missed, 1);
	flaw(slot, LWPS_NO_SWITCH);
	flaw(c->slot, LWPS_NO_SWITCH);
	c->slot = LWPS_NONE;
}

/* This CPU's number is out of range: it does not count for @slot. */
static __always_inline void lose_cpu(__u32 slot)
{
	if (slot == LWPS_NONE)
		return;
	__sync_fetch_and_add(&missed, 1);
	flaw(slot, LWPS_NO_CPU);
}

/*
 * End the slice of the current task, whose slot was @before, and charge what follows to @next.
 * Interrupts are on: refresh() may run in the middle, and leaves a busy CPU alone.
 */
__noinline int split_slice(struct lwp *l, __u32 before, __u32 next)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();

	if (!l)
		return 0;
	if (!c) {
		lose_cpu(before);
		return 0;
	}
	if (unlikely(c->task != (__u64)t)) {
		/* No switch is lost if @t was attached to while it runs: c->task is not set yet. */
		lose_switch(c, l->counted ? before : LWPS_NONE);
	} else if (unlikely(l->counted && l->switches != t->nvcsw + t->nivcsw + 1)) {
		__sync_fetch_and_add(&missed, 1);
		c->flaws |= LWPS_NO_SWITCH;
	}
	c->busy = 1;
	barrier();
	charge_slice(c, c->slot, GOES_ON);
	c->task = (__u64)t;
	c->cgroup = perf_cgroup_of(t);
	c->tracked = l->state == LIVE;
	c->exec_id = l->exec_id;
	c->slot = next;
	barrier();
	c->busy = 0;
	return 0;
}

#endif /* SLICE_BPF_H */
