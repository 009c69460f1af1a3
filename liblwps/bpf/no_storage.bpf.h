/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * no_storage.bpf.h - LWPs that the kernel had no task storage for.
 */
#ifndef NO_STORAGE_BPF_H
#define NO_STORAGE_BPF_H

#include "record.bpf.h"

/* The slot of @t if it has no task storage; else LWPS_NONE. */
static __always_inline __u32 no_storage_slot(struct task_struct *t)
{
	const __u64 key = (__u64)t;
	__u32 *slot;

	if (!unlikely(no_storage_seen))
		return LWPS_NONE;
	slot = bpf_map_lookup_elem(&no_storage, &key);
	return slot ? *slot : LWPS_NONE;
}

/* Remember the slot of @t, which has no task storage.  If there is no room, emit an exit of @t. */
static __always_inline void add_no_storage(struct task_struct *t, __u32 slot)
{
	const __u64 key = (__u64)t;

	no_storage_seen = 1;
	if (bpf_map_update_elem(&no_storage, &key, &slot, BPF_ANY)) {
		flaw(slot, LWPS_NO_MEMORY);
		emit_record(LWPS_EXIT, slot, LWPS_NONE, 0);
		lwp_gone();
	}
}

/* Forget @t, whose slot ends here.  Returns that slot; LWPS_NONE: @t has task storage. */
static __always_inline __u32 drop_no_storage(struct task_struct *t)
{
	const __u32 slot = no_storage_slot(t);
	const __u64 key = (__u64)t;

	if (slot == LWPS_NONE)
		return LWPS_NONE;
	bpf_map_delete_elem(&no_storage, &key);
	flaw(slot, LWPS_NO_MEMORY);
	return slot;
}

/* If @t has no task storage, try again to get some.  Until then @t was not counted. */
static __always_inline void retry_storage(struct task_struct *t)
{
	const __u32 slot = no_storage_slot(t);
	const __u64 key = (__u64)t;
	struct lwp *l;

	if (slot == LWPS_NONE)
		return;
	l = storage_of(t);
	if (!l)
		return;
	l->slot = slot;
	l->cpu = LWPS_NONE;
	l->off = start_off;
	l->exec_id = t->self_exec_id;
	l->state = LIVE;
	if (t->nvcsw + t->nivcsw > 0)
		flaw(slot, LWPS_NO_MEMORY);
	bpf_map_delete_elem(&no_storage, &key);
}

#endif /* NO_STORAGE_BPF_H */
