/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * owner.bpf.h - store the owners of an LWP, its cgroup and its user, in its slot.
 */
#ifndef OWNER_BPF_H
#define OWNER_BPF_H

#include "state.bpf.h"

/* Store a word behind the totals of a slot. */
static __always_inline void store_owner(__u32 slot, __u32 i, __u64 owner)
{
	const __u32 n = LWPS_HEADER_WORDS + ncolumns + i;
	__u32 key = first_line(slot) + n / LWPS_LINE_WORDS;
	struct lwps_line *line = bpf_map_lookup_elem(&slots, &key);

	if (line)
		line->word[n % LWPS_LINE_WORDS] = owner;
}

/* Keep the path of a cgroup: it may be removed before user space looks for the path. */
static __always_inline void keep_path(__u64 id, __u64 kn, struct lwps_path *path)
{
	if (!path || bpf_map_lookup_elem(&paths, &id))
		return;
	store_path(path, kn);
	bpf_map_update_elem(&paths, &id, path, BPF_NOEXIST);
}

/* Store the owners of @t in its slot.  @path is a buffer that nothing else uses meanwhile. */
static __always_inline void store_owners(struct task_struct *t, __u32 slot, struct lwps_path *path)
{
	struct kernfs_node *kn;

	if (!owners || slot == LWPS_NONE || slot == LWPS_SHARED)
		return;
	if (owners & LWPS_OWNER_CGROUP) {
		kn = cgroup_of(t)->kn;
		keep_path(kn->id, (__u64)kn, path);
		store_owner(slot, 0, kn->id);
	}
	if (owners & LWPS_OWNER_USER)
		store_owner(slot, 1, (__u64)euid_of(t) + 1);
}

/* Store the owners when the slot ends, in the current task or at the last switch of @t. */
static __always_inline void store_last_owners(struct task_struct *t, __u32 slot)
{
	struct lwps_cpu *c = owners ? this_cpu() : NULL;

	store_owners(t, slot, c ? (struct lwps_path *)c->args : NULL);
}

#endif /* OWNER_BPF_H */
