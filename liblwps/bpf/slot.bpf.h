/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slot.bpf.h - slots for new LWPs and programs.
 */
#ifndef SLOT_BPF_H
#define SLOT_BPF_H

#include "record.bpf.h"

/*
 * Allocate a slot for an LWP: the shared one when no other is free.  @creator is the slot of its
 * creator in the same process, or LWPS_NONE.
 */
__noinline __u32 alloc_slot(__u32 tid, __u32 tgid, __u32 creator)
{
	const __u32 slot = take_slot();
	struct lwps_slot *s;

	if (slot == LWPS_SHARED) {
		flaw(creator, LWPS_PROC_INCOMPLETE);
		return slot;
	}
	s = slot_of(slot);
	if (s) {
		s->tid = tid;
		s->tgid = tgid;
	}
	return slot;
}

/* Allocate a slot for a new LWP, which is alive from here on, and emit its record. */
static __always_inline __u32 begin_slot(__u32 event, __u64 ids, __u32 creator, __u32 extra)
{
	const __u32 tid = ids, tgid = ids >> 32;
	const __u32 slot = alloc_slot(tid, tgid, event == LWPS_THREAD ? creator : LWPS_NONE);

	__sync_fetch_and_add(&live, 1);
	emit_record(event, slot, creator, extra);
	return slot;
}

static __always_inline void init_lwp(struct lwp *l, struct task_struct *t, __u32 slot, bool counted)
{
	l->slot = slot;
	l->cpu = LWPS_NONE;
	l->switches = 0;
	l->counted = counted;
	l->off = start_off;
	l->exec_id = t->self_exec_id;
	l->pending = 0;
	l->delay = delay_of(t);
	l->nivcsw = t->nivcsw;
}

#endif /* SLOT_BPF_H */
