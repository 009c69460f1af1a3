/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * record.bpf.h - what is told of births, execs and ends.
 */
#ifndef RECORD_BPF_H
#define RECORD_BPF_H

#include "state.bpf.h"

/* 1 if there are few slots that nobody has; some of those may have been tried in vain. */
static __always_inline __u64 few_slots(void)
{
	const __u32 left = recycle_tail - recycle_head + nslots - fresh;

	return is_negative((__s64)(__s32)left - (nslots >> 2));
}

/* Wake the reader for one batch after another, not for each record, and earlier if in a hurry. */
static __always_inline __u64 wake_flag(__u64 now, __u64 hurry)
{
	const __u64 pause = LWPS_BATCH_NS - hurry * (LWPS_BATCH_NS - LWPS_HURRY_NS);
	const __u64 early = is_negative(now - woken_ns - pause);

	woken_ns = now - early * (now - woken_ns);
	return BPF_RB_FORCE_WAKEUP - early * (BPF_RB_FORCE_WAKEUP - BPF_RB_NO_WAKEUP);
}

/* Tell of a birth or an end, unless it is of those that share a slot. */
__noinline int tell(__u32 event, __u32 slot, __u32 other, __s32 extra)
{
	struct lwps_raw r;
	__u64 now;

	if (slot == LWPS_SHARED)
		return 0;
	now = bpf_ktime_get_ns();
	r.time_ns = now;
	r.event = event;
	r.slot = slot;
	r.other = other;
	r.extra = extra;
	if (bpf_ringbuf_output(&ring, &r, sizeof(r), wake_flag(now, few_slots())))
		__sync_fetch_and_add(&ring_full, 1);
	return 0;
}

/*
 * An LWP that was told to end is no longer counted among those that live: who sees that none
 * lives finds the records.  The last wakes the reader, which takes a record, of nothing.
 */
static __always_inline void leave(void)
{
	void *nothing;

	if (__sync_fetch_and_add(&live, -1) != 1)
		return;
	nothing = bpf_ringbuf_reserve(&ring, sizeof(__u64), 0);
	if (nothing)
		bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

/*
 * The status as the parent sees it, once this LWP is the last of its process.  Another one may
 * end before this is told, and be told first: then the status is that with LWPS_ALL_END, or the
 * leader's own.
 */
static __always_inline __s32 wait_status(struct task_struct *t)
{
	if (BPF_CORE_READ(t, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(t, signal, group_exit_code) | LWPS_ALL_END;
	return BPF_CORE_READ(t, group_leader, exit_code);
}

/* All of an exec's record but the command line. */
static __always_inline void fill_exec(struct lwps_raw_exec *e, struct task_struct *t, __u32 slot,
				      __u32 next)
{
	e->raw.time_ns = bpf_ktime_get_ns();
	e->raw.event = LWPS_EXEC;
	e->raw.slot = slot;
	e->raw.other = next;
	e->raw.extra = visible_tid(t); /* who executes is the leader then */
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

/* With the command line, unless it would take the room that the records of slots need. */
static __always_inline void send_exec(struct lwps_cpu *c, struct mm_struct *mm)
{
	const __u64 args = BPF_CORE_READ(mm, arg_start);
	const __u64 pending = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 size = BPF_CORE_READ(mm, arg_end) - args;

	c->exec.args_length = size;
	/* Bounded here, in one register, as the verifier of Linux 6.1 wants it. */
	barrier_var(size);
	if (size > LWPS_ARGS)
		size = LWPS_ARGS;
	if (pending >= ring_spare || bpf_probe_read_user(c->args, size, (void *)args))
		size = 0;
	c->exec.args_size = size;
	/* From memory it is the same to the verifier, whichever way it came about. */
	size = *(volatile __u32 *)&c->exec.args_size;
	barrier_var(size);
	if (size > LWPS_ARGS)
		return;
	if (bpf_ringbuf_output(
		    &ring, &c->exec, sizeof(c->exec) + size,
		    wake_flag(c->exec.raw.time_ns, is_negative(ring_high - 1 - pending))))
		__sync_fetch_and_add(&ring_full, 1);
}

/*
 * The current task executes another program: its slot before, if any, is ended, and @next is
 * begun, or tracking ends.
 */
__noinline int tell_exec(__u32 slot, __u32 next)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();
	struct lwps_raw_exec bare = {};

	if (c) {
		fill_exec(&c->exec, t, slot, next);
		send_exec(c, BPF_CORE_READ(t, mm));
	} else {
		fill_exec(&bare, t, slot, next);
		if (bpf_ringbuf_output(&ring, &bare, sizeof(bare), BPF_RB_FORCE_WAKEUP))
			__sync_fetch_and_add(&ring_full, 1);
	}
	if (next == LWPS_NONE)
		leave();
	return 0;
}

#endif /* RECORD_BPF_H */
