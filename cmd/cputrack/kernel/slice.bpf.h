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

/*
 * Read the event of column @i, which is what it counted since the last time; 0 unless both
 * times it could be read.
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

/* What column @i of this CPU counted from the last time to @now, for all clocks the same. */
static __always_inline __u64 advance(struct lwps_cpu *c, __u32 i, __u64 now, __u32 switches,
				     struct wrong *wrong)
{
	__u64 before;

	switch (kind[i]) {
	case LWPS_CPU:
		return read_event(c, i, wrong);
	case LWPS_CLOCK:
		before = c->start[i].value;
		c->start[i].value = now;
		return now - before;
	case LWPS_SWITCH:
		return switches;
	default:
		return c->migrated;
	}
}

/*
 * End the slice of this CPU and begin another.  What was counted is added to @slot; if it is
 * LWPS_NONE, that was nobody's.
 */
__noinline int settle(struct lwps_cpu *c, __u32 slot, __u32 switches)
{
	__u32 i, n, begun, flaws, key = first_line(slot, bpf_get_smp_processor_id());
	const __u64 now = bpf_ktime_get_ns();
	struct lwps_line *line;
	struct lwps_slot *s;
	struct wrong wrong = {};

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
		line->word[n % LWPS_LINE_WORDS] += advance(c, i, now, switches, &wrong);
	}
	fence(c);
	s->sequence++;
	c->migrated = 0;
	begun = is_not_0(wrong.no_event) * LWPS_NO_EVENT;
	_Static_assert(LWPS_NO_EVENT == 1, "1 or 0");
	flaws = c->flaws | begun | is_not_0(wrong.not_run) * LWPS_NOT_RUN |
		is_not_0(wrong.stopped) * (1 - begun) * LWPS_STOPPED;
	c->flaws = begun; /* of the next slice */
	if (unlikely(flaws))
		__sync_fetch_and_or(&s->flaws, flaws);
	return 0;
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
		c->flaws |= LWPS_NO_SWITCH;
	}
	l->counted = 1;
	l->switches = switches + 1;
	cpu = bpf_get_smp_processor_id();
	c->migrated = l->cpu != cpu && l->cpu != LWPS_NONE;
	l->cpu = cpu;
}

/* A switch was not told: where the slice of this CPU ended and that of @slot began is not known. */
static __always_inline void lose_switch(struct lwps_cpu *c, __u32 slot)
{
	if (slot == LWPS_NONE && c->slot == LWPS_NONE)
		return;
	__sync_fetch_and_add(&missed, 1);
	flaw(slot, LWPS_NO_SWITCH);
	flaw(c->slot, LWPS_NO_SWITCH);
	c->slot = LWPS_NONE;
}

/* This CPU is not shared: what is done here is not counted in @slot. */
static __always_inline void lose_cpu(__u32 slot)
{
	if (slot == LWPS_NONE)
		return;
	__sync_fetch_and_add(&missed, 1);
	flaw(slot, LWPS_NO_CPU);
}

/* The current task's slice, in the slot @before, ends here, and one in the slot @next begins. */
__noinline int divide(struct lwp *l, __u32 before, __u32 next)
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
		/* Unless it was attached to in this moment. */
		lose_switch(c, l->counted ? before : LWPS_NONE);
	} else if (unlikely(l->counted && l->switches != t->nvcsw + t->nivcsw + 1)) {
		__sync_fetch_and_add(&missed, 1);
		c->flaws |= LWPS_NO_SWITCH;
	}
	c->busy = 1;
	barrier();
	settle(c, c->slot, 0);
	c->task = (__u64)t;
	c->slot = next;
	barrier();
	c->busy = 0;
	return 0;
}

#endif /* SLICE_BPF_H */
