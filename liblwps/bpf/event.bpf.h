/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.bpf.h - columns of counts, and the perf events of the CPUs behind them.
 */
#ifndef EVENT_BPF_H
#define EVENT_BPF_H

#include "../types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "../shared.h"

#define NULL ((void *)0)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() asm volatile("" ::: "memory")

/* Constants that user space sets before loading: the verifier drops the code they exclude. */
const volatile __u32 ncolumns = 1, ncpus = 1, nslots = 1;
const volatile __u32 nlines = 1; /* of a slot */
const volatile __u32 recycle_mask = 0;
const volatile __u32 weak_order = 0;	 /* CPUs see each other's stores out of order */
const volatile __u32 preemptible = 0;	 /* programs at tracepoints can be preempted */
const volatile __u32 has_sched_exit = 1; /* the kernel has the tracepoint sched_exit_tp */
const volatile __u8 kind[LWPS_MAX_COLUMNS];
const volatile __u32 reads_clock = 1;	       /* a column is of kind LWPS_CLOCK */
const volatile __u32 counts_delay = 1;	       /* a column is of kind LWPS_DELAY */
const volatile __u32 counts_preemptions = 1;   /* of kind LWPS_PREEMPT or LWPS_OTHER */
const volatile __u32 nturns = 1;	       /* the number of turns... */
const volatile __u8 turn_of[LWPS_MAX_COLUMNS]; /* ...and by column: the turn in which it counts */

__u32 saw_init_switch; /* sched_switch reports switches away from process 1 */
/* Slots: those never used, then a queue of released ones, which user space alone fills. */
__u32 fresh, recycle_head, recycle_tail;
/* Losses. */
__u64 no_slot, missed, repaired;

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 1); /* ncolumns * ncpus */
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1); /* a power of two, nslots or more */
} recycled SEC(".maps");

/*
 * Between these two no other task runs on this CPU, and so no other program changes its slice.
 * Up to Linux 6.19, programs at tracepoints always run with preemption off.
 */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void preempt_off(void)
{
	if (preemptible)
		bpf_preempt_disable();
}

static __always_inline void preempt_on(void)
{
	if (preemptible)
		bpf_preempt_enable();
}

/*
 * How long @t has waited for CPUs in its life: the second number of /proc/PID/task/TID/schedstat.
 * The kernel adds a wait when the task comes to a CPU, after sched_switch, or when it is moved to
 * the runqueue of another CPU.
 */
static __always_inline __u64 delay_of(struct task_struct *t)
{
	return bpf_core_field_exists(t->sched_info.run_delay) ? t->sched_info.run_delay : 0;
}

/* The counts of the event of column @i since the last call; 0 unless both reads succeeded. */
static __always_inline __u64 read_event(struct lwps_start *start, __u32 i, __u32 *flaws)
{
	const __u32 key = i * ncpus + bpf_get_smp_processor_id();
	struct bpf_perf_event_value v;
	__u64 delta = 0;

	if (bpf_perf_event_read_value(&events, key, &v, sizeof(v))) {
		*flaws |= LWPS_NO_EVENT;
		start->reading = LWPS_LOST;
		return 0;
	}
	if (start->reading != LWPS_READ)
		*flaws |= LWPS_NO_EVENT;
	else
		delta = v.counter - start->value;
	if (v.enabled - v.running != start->idle)
		*flaws |= LWPS_NOT_RUN;
	start->value = v.counter;
	start->idle = v.enabled - v.running;
	start->reading = LWPS_READ;
	return delta;
}

/* The members of struct perf_event that load_event() copies at once. */
#define COPY_FROM bpf_core_field_offset(struct perf_event, state)
#define COPY_ADJACENT (bpf_core_field_offset(struct perf_event, count) == COPY_FROM + 8)

/* Like read_event(), for kind LWPS_SOFTWARE: copy the count from memory, in a third of the time. */
static __always_inline __u64 load_event(struct lwps_start *start, __u32 i, __u32 *flaws)
{
	const __u64 before = start->value;
	const __u64 address = *(volatile __u64 *)&start->event; /* user space may change it */
	struct {
		__u32 state, attach_state;
		__u64 count;
	} event;

	if (!COPY_ADJACENT || (__s64)address >= 0) /* an id: its address was not found */
		return read_event(start, i, flaws);
	if (bpf_probe_read_kernel(&event, sizeof(event), (void *)address + COPY_FROM) ||
	    event.state != PERF_EVENT_STATE_ACTIVE) {
		*flaws |= LWPS_NO_EVENT;
		start->reading = LWPS_LOST;
		return 0;
	}
	start->value = event.count;
	if (unlikely(start->reading != LWPS_READ)) {
		*flaws |= LWPS_NO_EVENT;
		start->reading = LWPS_READ;
		return 0;
	}
	return start->value - before;
}

/* The slice of a CPU; NULL: its number is out of range. */
static __always_inline struct lwps_slice *slice_of(__u32 cpu);

/* Where find_events() is in the list of perf events. */
struct event_walk {
	void *head, *entry;
};

static long find_next_event(__u32 n, struct event_walk *walk)
{
	void *last = walk->entry;
	struct lwps_slice *s;
	struct perf_event *event;
	__u64 id;
	__u32 i;

	if (bpf_probe_read_kernel(&walk->entry, sizeof(walk->entry), last) ||
	    walk->entry == walk->head)
		return 1;
	/* Another thread has just closed the last event: it points to itself. */
	if (walk->entry == last)
		return 1;
	event = walk->entry - bpf_core_field_offset(struct perf_event, owner_entry);
	id = BPF_CORE_READ(event, id);
	s = slice_of(BPF_CORE_READ(event, cpu));
	for (i = 0; s && i < LWPS_MAX_COLUMNS && i < ncolumns; i++) {
		if (s->start[i].event == id)
			s->start[i].event = (__u64)event;
	}
	return 0;
}

#define MAX_EVENTS (1 << 20)

/*
 * Find the perf events of kind LWPS_SOFTWARE whose ids user space has stored, among the events that
 * the current task has opened.  load_event() leaves the ones not found to read_event().
 *
 * The map `events` holds a reference to each.  Before user space removes an event, it sets the
 * address to 0.  The kernel frees the event only when all programs that may have read the address
 * have ended.  If the tool is killed, programs may read a freed event, but nothing uses the counts.
 */
static __always_inline void find_events(void)
{
	struct task_struct *t = (void *)bpf_get_current_task();
	struct event_walk walk = {.head = &t->perf_event_list, .entry = &t->perf_event_list};

	bpf_loop(MAX_EVENTS, find_next_event, &walk, 0);
}

/*
 * Take a slot that is free; LWPS_SHARED: all are in use.
 *
 * Released slots come first: they are cache-hot.  One entry per CPU stays in the queue, so that
 * concurrent takers do not pass its end.  A taker that does pass it gives that entry up.
 */
static __always_inline __u32 take_slot(void)
{
	__u32 slot = LWPS_SHARED, head, key;
	__u64 *entry;

	if ((__s32)(*(volatile __u32 *)&recycle_tail - recycle_head) >= (__s32)ncpus) {
		head = __sync_fetch_and_add(&recycle_head, 1);
		/* Stable: user space rewrites an entry only after all others were released. */
		key = head & recycle_mask;
		entry = bpf_map_lookup_elem(&recycled, &key);
		if (entry && (__s32)(*(volatile __u32 *)&recycle_tail - head) > 0)
			slot = *entry;
	}
	if (slot == LWPS_SHARED && fresh < nslots) {
		slot = __sync_fetch_and_add(&fresh, 1);
		if (slot >= nslots)
			slot = LWPS_SHARED;
	}
	if (slot == LWPS_SHARED)
		__sync_fetch_and_add(&no_slot, 1);
	return slot;
}

#endif /* EVENT_BPF_H */
