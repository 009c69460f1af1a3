/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * record.bpf.h - records of births, execs and exits.
 */
#ifndef RECORD_BPF_H
#define RECORD_BPF_H

#include "state.bpf.h"

/* A flag for bpf_ringbuf_output(): the reader is woken once per batch, earlier in a hurry. */
static __always_inline __u64 wake_flag(__u64 now, bool hurry)
{
	if (now - woken_ns < (hurry ? LWPS_HURRY_NS : LWPS_BATCH_NS))
		return BPF_RB_NO_WAKEUP;
	woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

/* Are most slots in use?  An entry of the queue that take_slot() gave up counts as used. */
static __always_inline bool few_slots(void)
{
	return (__s32)(recycle_tail - recycle_head + nslots - fresh) < (__s32)(nslots >> 2);
}

/* Emit the record of a birth or an exit.  LWPs that share a slot have no records. */
__noinline int emit_record(__u32 event, __u32 slot, __u32 other, __s32 extra)
{
	struct lwps_raw r;

	if (slot == LWPS_SHARED || slot == LWPS_NONE)
		return 0;
	r.time_ns = bpf_ktime_get_ns();
	r.event = event;
	r.slot = slot;
	r.other = other;
	r.extra = extra;
	if (bpf_ringbuf_output(&ring, &r, sizeof(r), wake_flag(r.time_ns, few_slots())))
		__sync_fetch_and_add(&ring_full, 1);
	return 0;
}

/*
 * An LWP is no longer alive.  Call this after its last record: a reader that sees no LWP alive
 * finds all records.  The last LWP wakes the reader, by an empty record.
 */
static __always_inline void lwp_gone(void)
{
	void *empty;

	if (__sync_fetch_and_add(&live, -1) != 1)
		return;
	empty = bpf_ringbuf_reserve(&ring, sizeof(__u64), 0);
	if (empty)
		bpf_ringbuf_discard(empty, BPF_RB_FORCE_WAKEUP);
}

/*
 * The wait status of the process of @t.  Only the last LWP that exits has the final one, and its
 * record may not be the last.  So user space uses a status with LWPS_ALL_END, else the leader's.
 */
static __always_inline __s32 wait_status(struct task_struct *t)
{
	struct task_struct *leader = BPF_CORE_READ(t, group_leader);
	__s32 status;

	if (BPF_CORE_READ(t, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(t, signal, group_exit_code) | LWPS_ALL_END;
	status = BPF_CORE_READ(leader, exit_code);
	/* The leader's memory may be reused already if @t is at its last switch. */
	return BPF_CORE_READ(leader, pid) == t->tgid ? status : 0;
}

/* Store the root directory and mount namespace of the tool. */
static __always_inline void note_root(struct task_struct *t)
{
	tool_mounts = (__u64)BPF_CORE_READ(t, nsproxy, mnt_ns);
	tool_root = (__u64)BPF_CORE_READ(t, fs, root.dentry);
	tool_root_mount = (__u64)BPF_CORE_READ(t, fs, root.mnt);
}

/* May a path name another file for @t than for the tool? */
static __always_inline bool is_elsewhere(struct task_struct *t)
{
	return functions && ((__u64)BPF_CORE_READ(t, nsproxy, mnt_ns) != tool_mounts ||
			     (__u64)BPF_CORE_READ(t, fs, root.dentry) != tool_root ||
			     (__u64)BPF_CORE_READ(t, fs, root.mnt) != tool_root_mount);
}

/* Fill in an exec's record, without the command line. */
static __always_inline void fill_exec(struct lwps_raw_exec *e, struct task_struct *t, __u32 slot,
				      __u32 next)
{
	e->raw.time_ns = bpf_ktime_get_ns();
	e->raw.event = LWPS_EXEC;
	e->raw.slot = slot;
	e->raw.other = next;
	e->raw.extra = visible_tid(t); /* an exec makes its LWP the leader */
	e->args_size = 0;
	e->exe_dev = 0;
	if (is_elsewhere(t)) {
		e->exe_dev = BPF_CORE_READ(t, mm, exe_file, f_inode, i_sb, s_dev);
		e->exe_ino = BPF_CORE_READ(t, mm, exe_file, f_inode, i_ino);
	}
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

/* Emit an exec's record.  Omit the command line if the ring needs its room for records of slots. */
static __always_inline void emit_exec_args(struct lwps_cpu *c, struct mm_struct *mm)
{
	const __u64 args = BPF_CORE_READ(mm, arg_start);
	const __u64 pending = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u64 size = BPF_CORE_READ(mm, arg_end) - args;

	/* Bounded here, in one register, as the verifier of Linux 6.1 requires. */
	barrier_var(size);
	if (size > LWPS_ARGS)
		size = LWPS_ARGS;
	if (pending >= ring_spare || bpf_probe_read_user(c->args, size, (void *)args))
		size = 0;
	c->exec.args_size = size;
	/* Read back from memory, so that the verifier sees one value and not one for each path. */
	size = *(volatile __u32 *)&c->exec.args_size;
	barrier_var(size);
	if (size > LWPS_ARGS)
		return;
	if (bpf_ringbuf_output(&ring, &c->exec, sizeof(c->exec) + size,
			       c->exec.exe_dev
				       ? BPF_RB_FORCE_WAKEUP
				       : wake_flag(c->exec.raw.time_ns, pending >= ring_high)))
		__sync_fetch_and_add(&ring_full, 1);
}

/*
 * Emit the record of the current task's exec: @slot ends, and @next begins, or the tracking ends
 * (LWPS_NONE).
 */
__noinline int emit_exec(__u32 slot, __u32 next)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();
	struct lwps_raw_exec bare = {};

	if (c) {
		fill_exec(&c->exec, t, slot, next);
		emit_exec_args(c, BPF_CORE_READ(t, mm));
	} else {
		fill_exec(&bare, t, slot, next);
		if (bpf_ringbuf_output(&ring, &bare, sizeof(bare), BPF_RB_FORCE_WAKEUP))
			__sync_fetch_and_add(&ring_full, 1);
	}
	if (next == LWPS_NONE)
		lwp_gone();
	return 0;
}

#endif /* RECORD_BPF_H */
