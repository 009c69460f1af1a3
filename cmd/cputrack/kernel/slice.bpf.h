/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slice.bpf.h - what is counted on a CPU from one moment to another, and whose it is.
 */
#ifndef SLICE_BPF_H
#define SLICE_BPF_H

#include "state.bpf.h"

/* Stores before are seen before those after. */
static __always_inline void fence(struct lwps_cpu *c)
{
	if (weak_order)
		__sync_fetch_and_add(&c->fence, 1); /* with its value, a full barrier */
	barrier();
}

/* What went wrong in any column of a slice, if it is not 0. */
struct wrong {
	__u64 no_event, not_run, stopped;
};

/* All bits where @x is negative, without a branch. */
static __always_inline __u64 if_negative(__s64 x)
{
	x >>= 63;
	barrier_var(x);
	return x;
}

/*
 * Read the event of column @i, which is what it counted since the last time; 0 unless both
 * times it could be read.  There are no branches, as the verifier would try all combinations
 * of them in all columns.
 */
static __always_inline __u64 read_event(struct lwps_cpu *c, __u32 i, struct wrong *wrong)
{
	const __u32 key = i * ncpus + bpf_get_smp_processor_id();
	struct bpf_perf_event_value v;
	__u64 delta, valid;
	__s64 error;

	error = bpf_perf_event_read_value(&events, key, &v, sizeof(v)); /* v is 0 then */
	valid = ~if_negative(error) & if_negative(-(__s64)c->start[i].enabled);
	delta = v.counter - c->start[i].value;
	wrong->no_event |= error;
	wrong->not_run |= (v.enabled - v.running) ^ c->start[i].idle;
	wrong->stopped |= (v.enabled - c->start[i].enabled - 1) >> 63;
	c->start[i].value = v.counter;
	c->start[i].enabled = v.enabled;
	c->start[i].idle = v.enabled - v.running;
	return delta & valid;
}

/* What column @i of this CPU counted since the last time. */
static __always_inline __u64 advance(struct lwps_cpu *c, __u32 i, __u32 switches,
				     struct wrong *wrong)
{
	__u64 now, before;

	switch (kind[i]) {
	case LWPS_CPU:
		return read_event(c, i, wrong);
	case LWPS_CLOCK:
		now = bpf_ktime_get_ns();
		before = c->start[i].value;
		c->start[i].value = now;
		return now - before;
	case LWPS_SWITCH:
		return switches;
	default:
		return 0;
	}
}

/* Add to @slot what the slice counted. */
static __always_inline void charge(struct lwps_cpu *c, __u32 slot)
{
	struct lwps_slot *s;
	__u32 i;

	if (slot == LWPS_SHARED) {
#pragma clang loop unroll(disable)
		for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++)
			c->shared[i] += c->slice[i];
		return;
	}
	s = slot_of(slot);
	if (!s)
		return;
	s->sequence++;
	fence(c);
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++)
		s->total[i] += c->slice[i];
	fence(c);
	s->sequence++;
}

/*
 * End the slice of this CPU and begin another.  What was counted is added to @slot; if it is
 * LWPS_NONE, that was nobody's.  A global function, so that it is verified once in a program.
 */
__noinline int settle(struct lwps_cpu *c, __u32 slot, __u32 switches)
{
	struct wrong wrong = {};
	__u32 i, flaws;

	if (!c)
		return 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++)
		c->slice[i] = advance(c, i, switches, &wrong);
	if (slot != LWPS_NONE)
		charge(c, slot);
	flaws = c->flaws; /* of the slice's begin */
	c->flaws = 0;
	if (unlikely(flaws | wrong.no_event | wrong.not_run | wrong.stopped)) {
		if (wrong.no_event)
			c->flaws = LWPS_NO_EVENT;
		else if (wrong.stopped)
			flaws |= LWPS_STOPPED;
		if (wrong.not_run)
			flaws |= LWPS_NOT_RUN;
		flaw(slot, flaws | c->flaws);
	}
	return 0;
}

/* An LWP came to this CPU from another one. */
static __always_inline void migrated(struct lwps_cpu *c, __u32 slot)
{
	__u64 *total = c->shared;
	struct lwps_slot *s;
	__u32 i;

	if (slot != LWPS_SHARED) {
		s = slot_of(slot);
		if (!s)
			return;
		total = s->total;
	}
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++)
		if (kind[i] == LWPS_MIGRATE)
			total[i]++;
}

/*
 * @t, which is tracked if @l, has this CPU from now on.  The kernel's own count of its
 * switches tells whether all of them were seen here.
 */
static __always_inline void arrive(struct lwps_cpu *c, struct task_struct *t, struct lwp *l)
{
	__u64 switches;
	__u32 cpu;

	c->task = (__u64)t;
	c->slot = l ? charged(l) : LWPS_NONE;
	if (!l)
		return;
	switches = t->nvcsw + t->nivcsw;
	if (unlikely(l->counted && l->switches != switches)) {
		__sync_fetch_and_add(&missed, 1);
		flaw(l->slot, LWPS_NO_SWITCH);
	}
	l->counted = 1;
	l->switches = switches + 1;
	cpu = bpf_get_smp_processor_id();
	if (l->cpu != cpu && l->cpu != LWPS_NONE && !l->off)
		migrated(c, l->slot);
	l->cpu = cpu;
}

/* The current task's slice ends here, and another of it begins, in the slot @next. */
static __always_inline void divide(struct task_struct *t, struct lwp *l, __u32 next)
{
	struct lwps_cpu *c = this_cpu();
	__u32 slot;

	if (!c)
		return;
	slot = c->slot;
	if (unlikely(c->task != (__u64)t)) {
		/* Unless it was attached to in this moment. */
		if (l->counted || slot != LWPS_NONE)
			__sync_fetch_and_add(&missed, 1);
		flaw(slot, LWPS_NO_SWITCH);
		if (l->counted)
			flaw(l->slot, LWPS_NO_SWITCH);
		slot = LWPS_NONE;
	} else if (unlikely(l->counted && l->switches != t->nvcsw + t->nivcsw + 1)) {
		__sync_fetch_and_add(&missed, 1);
		flaw(l->slot, LWPS_NO_SWITCH);
	}
	c->busy = 1;
	barrier();
	settle(c, slot, 0);
	c->task = (__u64)t;
	c->slot = next;
	barrier();
	c->busy = 0;
}

#endif /* SLICE_BPF_H */
