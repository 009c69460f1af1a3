/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stray.bpf.h - LWPs for which the kernel had no task storage.
 */
#ifndef STRAY_BPF_H
#define STRAY_BPF_H

#include "record.bpf.h"

/* The slot of @t if it is a stray; or LWPS_NONE. */
static __always_inline __u32 stray_slot(struct task_struct *t)
{
	const __u64 key = (__u64)t;
	__u32 *slot;

	if (!unlikely(strayed))
		return LWPS_NONE;
	slot = bpf_map_lookup_elem(&strays, &key);
	return slot ? *slot : LWPS_NONE;
}

/* @t, of the slot that was begun, has no task storage; if there are too many such, it ends here. */
static __always_inline void make_stray(struct task_struct *t, __u32 slot)
{
	const __u64 key = (__u64)t;

	strayed = 1;
	if (bpf_map_update_elem(&strays, &key, &slot, BPF_ANY)) {
		flaw(slot, LWPS_NO_MEMORY);
		tell(LWPS_EXIT, slot, LWPS_NONE, 0);
		leave();
	}
}

/* @t, if it is a stray, is none any more: what it did is over.  Its slot; or LWPS_NONE. */
static __always_inline __u32 drop_stray(struct task_struct *t)
{
	const __u32 slot = stray_slot(t);
	const __u64 key = (__u64)t;

	if (slot == LWPS_NONE)
		return LWPS_NONE;
	bpf_map_delete_elem(&strays, &key);
	flaw(slot, LWPS_NO_MEMORY);
	return slot;
}

/* If @t is a stray, try again to make it like others.  What it has run before was not counted. */
static __always_inline void reclaim(struct task_struct *t)
{
	const __u32 slot = stray_slot(t);
	const __u64 key = (__u64)t;
	struct lwp *l;

	if (slot == LWPS_NONE)
		return;
	l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!l)
		return;
	l->slot = slot;
	l->cpu = LWPS_NONE;
	l->off = start_off;
	l->state = LIVE;
	if (t->nvcsw + t->nivcsw > 0)
		flaw(slot, LWPS_NO_MEMORY);
	bpf_map_delete_elem(&strays, &key);
}

#endif /* STRAY_BPF_H */
