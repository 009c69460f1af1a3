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

/*
 * Read column @i of this CPU, which is what it counted since the last time.  The flaws are
 * those of the slice that ends here.
 */
static __always_inline __u64 advance(struct lwps_cpu *c, __u32 i, __u32 switches, __u32 *flaws)
{
	struct bpf_perf_event_value v;
	__u64 delta;

	switch (kind[i]) {
	case LWPS_CPU:
		if (bpf_perf_event_read_value(&events, i * ncpus + bpf_get_smp_processor_id(), &v,
					      sizeof(v))) {
			*flaws |= LWPS_NO_EVENT;
			c->flaws |= LWPS_NO_EVENT;
			return 0;
		}
		break;
	case LWPS_CLOCK:
		v.counter = bpf_ktime_get_ns();
		delta = v.counter - c->start[i].value;
		c->start[i].value = v.counter;
		return delta;
	case LWPS_SWITCH:
		return switches;
	default:
		return 0;
	}
	if (v.enabled == c->start[i].enabled)
		*flaws |= LWPS_STOPPED;
	if (v.enabled - v.running != c->start[i].idle)
		*flaws |= LWPS_NOT_RUN;
	delta = v.counter - c->start[i].value;
	c->start[i].value = v.counter;
	c->start[i].enabled = v.enabled;
	c->start[i].idle = v.enabled - v.running;
	return delta;
}

/*
 * End the slice of this CPU and begin another.  What was counted is added to @slot; if it is
 * LWPS_NONE, that was nobody's.  A global function, so that it is verified once.
 */
__noinline int settle(struct lwps_cpu *c, __u32 slot, __u32 switches)
{
	struct lwps_slot *s = NULL;
	__u32 i, flaws;
	__u64 *total;

	if (!c)
		return 0;
	if (slot == LWPS_NONE) {
		total = c->nobody;
	} else if (slot == LWPS_SHARED) {
		total = c->shared;
	} else {
		s = slot_of(slot);
		if (!s)
			return 0;
		total = s->total;
		s->sequence++;
		fence(c);
	}
	flaws = c->flaws;
	c->flaws = 0;
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++)
		total[i] += advance(c, i, switches, &flaws);
	if (s) {
		fence(c);
		s->sequence++;
	}
	if (unlikely(flaws))
		flaw(slot, flaws);
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
	c->slot = l ? l->slot : LWPS_NONE;
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
	if (l->cpu != cpu && l->cpu != LWPS_NONE)
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
		__sync_fetch_and_add(&missed, 1);
		flaw(slot, LWPS_NO_SWITCH);
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
