/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * record.bpf.h - what is told of births, execs and ends.
 */
#ifndef RECORD_BPF_H
#define RECORD_BPF_H

#include "state.bpf.h"

/* Are there few slots that nobody has?  Some CPUs may try in vain to have the last at once. */
static __always_inline bool few_slots(void)
{
	return (__s32)(recycle_tail - recycle_head + nslots - fresh) < (__s32)(nslots >> 2);
}

/* Wake the reader for one batch after another, not for each record, and earlier in a hurry. */
static __always_inline __u64 wake_flag(__u64 now, bool at_once, bool hurry)
{
	if (!at_once && now - woken_ns < (hurry ? LWPS_HURRY_NS : LWPS_BATCH_NS))
		return BPF_RB_NO_WAKEUP;
	woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

/*
 * Tell of a birth or an end.  The record of an end has its place in the ring before the LWP is
 * no longer counted: who sees that none lives finds the record.
 */
__noinline int tell(__u32 event, __u32 slot, __u32 other, __s32 extra)
{
	const bool ends = event == LWPS_EXIT, shared = slot == LWPS_SHARED;
	struct lwps_raw *r;
	bool last = false;

	/* Of those that share a slot, the last wakes the reader: there is always a place for it. */
	if (shared && (!ends || __sync_fetch_and_add(&live, -1) != 1))
		return 0;
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (ends)
		last = shared || __sync_fetch_and_add(&live, -1) == 1;
	if (!r) {
		__sync_fetch_and_add(&ring_full, 1);
		return 0;
	}
	r->time_ns = bpf_ktime_get_ns();
	r->event = event;
	r->slot = slot;
	r->other = other;
	r->extra = extra;
	bpf_ringbuf_submit(r, wake_flag(r->time_ns, last, few_slots()));
	return 0;
}

/* The status as the parent sees it, once this LWP is the last of its process. */
static __always_inline __s32 wait_status(struct task_struct *t)
{
	if (BPF_CORE_READ(t, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(t, signal, group_exit_code);
	return BPF_CORE_READ(t, group_leader, exit_code);
}

/*
 * The current task @t executes another program: its slot before, if any, is ended, and @next is
 * begun, or tracking ends.  The command line is left out when it would take the room that the
 * records of slots need.
 */
static __always_inline void tell_exec(struct task_struct *t, __u32 slot, __u32 next)
{
	struct mm_struct *mm = BPF_CORE_READ(t, mm);
	const __u64 args = BPF_CORE_READ(mm, arg_start);
	const bool leaves = next == LWPS_NONE;
	const __u64 pending = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	struct lwps_cpu *c = this_cpu();
	__u64 size;

	if (!c)
		return;
	c->exec.raw.time_ns = bpf_ktime_get_ns();
	c->exec.raw.event = LWPS_EXEC;
	c->exec.raw.slot = slot;
	c->exec.raw.other = next;
	c->exec.raw.extra = visible_tid(t); /* who executes is the leader then */
	bpf_get_current_comm(c->exec.comm, sizeof(c->exec.comm));
	size = BPF_CORE_READ(mm, arg_end) - args;
	c->exec.args_length = size;
	/* Bounded here, in one register, as the verifier of Linux 6.1 wants it. */
	barrier_var(size);
	if (size > LWPS_ARGS)
		size = LWPS_ARGS;
	if (pending >= ring_spare || bpf_probe_read_user(c->args, size, (void *)args))
		size = 0;
	c->exec.args_size = size;
	if (bpf_ringbuf_output(&ring, &c->exec, sizeof(c->exec) + size,
			       wake_flag(c->exec.raw.time_ns, leaves, pending >= ring_high)))
		__sync_fetch_and_add(&ring_full, 1);
	/* Who sees that none lives finds the record. */
	if (leaves)
		__sync_fetch_and_add(&live, -1);
}

#endif /* RECORD_BPF_H */
