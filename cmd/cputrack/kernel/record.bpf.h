/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * record.bpf.h - what is told of births, execs and ends.
 */
#ifndef RECORD_BPF_H
#define RECORD_BPF_H

#include "state.bpf.h"

/* Slots that nobody has. */
static __always_inline __u32 slots_left(void)
{
	return recycle_tail - recycle_head + (fresh < nslots ? nslots - fresh : 0);
}

/* Wake the reader for one batch after another, not for each record, and earlier in need. */
static __always_inline __u64 wake_flag(__u64 now, bool last)
{
	bool hurry = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= ring_high ||
		     slots_left() < nslots / 4;

	if (!last && now - woken_ns < (hurry ? LWPS_HURRY_NS : LWPS_BATCH_NS))
		return BPF_RB_NO_WAKEUP;
	woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline __u64 fill(struct lwps_raw *r, __u32 event, __u32 slot)
{
	struct lwps_slot *s = slot_of(slot);

	r->time_ns = bpf_ktime_get_ns();
	r->event = event;
	r->slot = slot;
	r->tid = s ? s->tid : 0;
	r->tgid = s ? s->tgid : 0;
	return r->time_ns;
}

__noinline int tell_birth(__u32 event, __u32 slot, __u32 creator, __u32 creator_tgid)
{
	struct lwps_raw *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	__u64 now;

	if (!r) {
		__sync_fetch_and_add(&ring_full, 1);
		return -1;
	}
	now = fill(r, event, slot);
	r->other = creator;
	r->extra = creator_tgid;
	bpf_ringbuf_submit(r, wake_flag(now, false));
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
 * Tell the end of an LWP, of which @e has all that is its own.  The record has its place in the
 * ring before the LWP is no longer counted: who sees that none lives finds the record.  A global
 * function, so that it is verified once in a program.
 */
__noinline int tell_exit(const struct lwps_raw_exit *e)
{
	struct lwps_raw_exit *r = NULL;
	bool shared, last;
	__u64 now;

	if (!e)
		return 0;
	shared = e->raw.slot == LWPS_SHARED;
	if (!shared)
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	last = __sync_fetch_and_add(&live, -1) == 1;
	if (shared && !last)
		return 0;
	/* There is always a place for one that wakes the reader. */
	if (shared)
		r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&ring_full, 1);
		return 0;
	}
	*r = *e;
	now = fill(&r->raw, LWPS_EXIT, e->raw.slot);
	bpf_ringbuf_submit(r, wake_flag(now, last));
	return 0;
}

/* @t, which is charged to @slot, ends. */
static __always_inline void end(struct task_struct *t, __u32 slot)
{
	struct lwps_raw_exit e = {.raw = {.slot = slot, .other = LWPS_NONE}};

	e.raw.extra = wait_status(t);
	BPF_CORE_READ_STR_INTO(&e.comm, t, comm);
	tell_exit(&e);
}

/* @room is a constant each time, as the verifier wants the size of a record to be. */
static __always_inline int tell_exec_with(const __u32 room, const struct lwps_raw_exec *e,
					  __u64 args)
{
	struct lwps_raw_exec *r = bpf_ringbuf_reserve(&ring, sizeof(*r) + room, 0);
	__u64 size = e->args_length;
	bool last = false;

	if (!r)
		return -1;
	*r = *e;
	/* Bounded here, in one register, as the verifier of Linux 6.1 wants it. */
	barrier_var(size);
	if (size > room)
		size = room;
	if (room && bpf_probe_read_user(r + 1, size, (void *)args) == 0)
		r->args_size = size;
	if (e->raw.other == LWPS_NONE)
		last = __sync_fetch_and_add(&live, -1) == 1;
	bpf_ringbuf_submit(r, wake_flag(e->raw.time_ns, last));
	return 0;
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
	struct lwps_slot *old = slot_of(slot);
	struct lwps_raw_exec e = {};
	int failed = -1;

	fill(&e.raw, LWPS_EXEC, slot);
	e.raw.other = next;
	e.raw.extra = e.raw.tid;
	e.raw.tid = visible_tid(t);
	e.raw.tgid = e.raw.tid; /* who executes is the leader then */
	if (old)
		__builtin_memcpy(e.old_comm, old->comm, sizeof(e.old_comm));
	bpf_get_current_comm(e.comm, sizeof(e.comm));
	e.args_length = BPF_CORE_READ(mm, arg_end) - args;
	if (e.args_length && bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < ring_spare)
		failed = e.args_length > LWPS_FEW_ARGS ? tell_exec_with(LWPS_ARGS, &e, args)
						       : tell_exec_with(LWPS_FEW_ARGS, &e, args);
	if (!failed || tell_exec_with(0, &e, args) == 0)
		return;
	__sync_fetch_and_add(&ring_full, 1);
	if (next == LWPS_NONE)
		__sync_fetch_and_add(&live, -1);
}

#endif /* RECORD_BPF_H */
