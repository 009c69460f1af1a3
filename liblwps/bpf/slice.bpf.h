/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slice.bpf.h - slices: the counts of a CPU between two moments, charged to one slot.
 *
 * The programs that include it decide which slot to charge.  They define HEADER_WORDS, the words of
 * a slot before its totals, and the functions that are declared here.
 */
#ifndef SLICE_BPF_H
#define SLICE_BPF_H

#include "event.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lwps_line);
	__uint(max_entries, 1);
} slots SEC(".maps");

/* The index in `slots` of the first line of a slot, as this CPU changes it. */
static __always_inline __u32 first_line(__u32 slot);

/* on_switch() was not called when this CPU switched to @t: do its work. */
static __always_inline void make_up(struct task_struct *t);

/* Other CPUs see the stores before this one before those after it. */
static __always_inline void fence(struct lwps_slice *s)
{
	/* An exchange is a full barrier; clang makes an addition whose result is unused without. */
	if (weak_order)
		__sync_lock_test_and_set(&s->fence, 0);
	barrier();
}

/* The counts of column @i on this CPU since the last call. */
static __always_inline __u64 advance(struct lwps_slice *s, __u32 i, __u32 *flaws)
{
	struct lwps_start *start = &s->start[i];
	const __u64 before = start->value;
	const __u8 k = kind[i];

	switch (k) {
	case LWPS_CLOCK ... LWPS_OTHER:
		start->value = s->now[k];
		break;
	case LWPS_CPU:
		return read_event(start, i, flaws);
	case LWPS_SOFTWARE:
		return load_event(start, i, flaws);
	case LWPS_FUNCTION:
		start->value = *(volatile __u64 *)&start->calls;
		break;
	default:
		return LWPS_SLICE_NS;
	}
	return start->value - before;
}

/* End the slice of this CPU and charge it to its slot; another begins. */
__noinline int charge_slice(struct lwps_slice *s)
{
	const __u32 columns = ncolumns, turns = nturns; /* read once */
	struct lwps_line *line;
	struct lwps_head *head;
	__u32 i, n, key, flaws = 0;

	if (!s)
		return 0;
	if (reads_clock) /* it takes 60 ns in some virtual machines */
		s->now[LWPS_CLOCK] = bpf_ktime_get_ns();
	key = first_line(s->slot);
	line = bpf_map_lookup_elem(&slots, &key);
	head = (void *)line;
	if (!head)
		return 0;
	head->sequence++;
	fence(s);
#pragma clang loop unroll(disable)
	for (i = 0; i < columns; i++) {
		n = HEADER_WORDS + i;
		if (n % LWPS_LINE_WORDS == 0) {
			key++;
			line = bpf_map_lookup_elem(&slots, &key);
			if (!line)
				return 0;
		}
		if (turns > 1 && turn_of[i] != s->turn)
			continue;
		line->word[n % LWPS_LINE_WORDS] += advance(s, i, &flaws);
	}
	fence(s);
	head->sequence++;
	if (unlikely(flaws))
		__sync_fetch_and_or(&head->flaws, flaws);
	return 0;
}

/* Not static, so that the verifier checks it once, and not again at each call. */
__noinline int flaw(__u32 slot, __u32 flaws)
{
	__u32 key = first_line(slot);
	struct lwps_head *head = bpf_map_lookup_elem(&slots, &key);

	if (head)
		__sync_fetch_and_or(&head->flaws, flaws);
	return 0;
}

/* A switch that begins or ends a slice of @slot was missed. */
static __always_inline void miss_switch(__u32 slot, enum lwps_flaw why)
{
	__sync_fetch_and_add(&missed, 1);
	flaw(slot, why);
}

/* Between these two, programs that user space runs in an interrupt leave the slice alone. */
static __always_inline void begin_change(struct lwps_slice *s)
{
	s->busy = 1;
	barrier();
}

static __always_inline void end_change(struct lwps_slice *s)
{
	barrier();
	s->busy = 0;
}

/*
 * The kernels of some virtual machines run no programs at tracepoints while process 1 is the
 * current task, so that on_switch() misses its switches to other tasks.  This program runs after
 * the switch, in the next task, and makes up for it (since Linux 6.16).
 */
SEC("raw_tp/sched_exit_tp")
int BPF_PROG(on_sched_exit)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_slice *s;

	if (!has_sched_exit)
		return 0;
	preempt_off();
	s = slice_of(bpf_get_smp_processor_id());
	if (s && s->task != (__u64)t) {
		begin_change(s);
		make_up(t);
		end_change(s);
	}
	preempt_on();
	return 0;
}

#endif /* SLICE_BPF_H */
