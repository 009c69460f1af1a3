/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * task.bpf.h - the cgroup, with its path, and the user of a task.
 */
#ifndef TASK_BPF_H
#define TASK_BPF_H

#include "event.bpf.h"

/* The pointer in a css_set for the hierarchy of cgroups. */
const volatile __u64 cgroup_offset = 0; /* see cgroups.bpf.c */
const volatile __u32 is_v1 = 0;		/* it points to a controller's state */

static __always_inline struct cgroup *cgroup_of(struct task_struct *t)
{
	void **pointer = (void *)t->cgroups + cgroup_offset;

	return is_v1 ? ((struct cgroup_subsys_state *)*pointer)->cgroup : *pointer;
}

/* The cgroup that perf_event_open(2) would count @t for: an address, only compared. */
const volatile __u64 perf_cgroup_offset = 0; /* 0: no column is of kind LWPS_CGROUP */

static __always_inline __u64 perf_cgroup_of(struct task_struct *t)
{
	return perf_cgroup_offset ? *(__u64 *)((void *)t->cgroups + perf_cgroup_offset) : 0;
}

static __always_inline __u32 euid_of(struct task_struct *t)
{
	return t->real_cred->euid.val;
}

/* The id of the ancestor of a cgroup at @level, which is at most the cgroup's own level. */
static __always_inline __u64 ancestor_id(struct cgroup *cgroup, __u32 level)
{
	struct cgroup___ids *former = (void *)cgroup;
	struct cgroup *ancestor;
	__u64 id = 0;

	if (!bpf_core_field_exists(cgroup->ancestors)) {
		bpf_probe_read_kernel(&id, sizeof(id),
				      (void *)cgroup + bpf_core_field_offset(former->ancestor_ids) +
					      level * sizeof(id));
		return id;
	}
	if (bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
				  (void *)cgroup + bpf_core_field_offset(cgroup->ancestors) +
					  level * sizeof(ancestor)))
		return 0;
	return BPF_CORE_READ(ancestor, kn, id);
}

static __always_inline __u64 parent_of(__u64 kn)
{
	struct kernfs_node___renamed *renamed = (void *)kn;
	struct kernfs_node *node = (void *)kn;

	if (bpf_core_field_exists(renamed->__parent))
		return (__u64)BPF_CORE_READ(renamed, __parent);
	return (__u64)BPF_CORE_READ(node, parent);
}

#define MAX_PARTS 32

/* Store the names of a cgroup and its ancestors, without the root. */
static __always_inline void store_path(struct lwps_path *p, __u64 kn)
{
	__u64 parent, to, at = 0;
	const char *name;
	__u32 depth;
	long n;

	p->nparts = 0;
	p->cut = 1;
	for (depth = 0; depth < MAX_PARTS; depth++) {
		parent = parent_of(kn);
		if (!parent) {
			p->cut = 0;
			return;
		}
		name = BPF_CORE_READ((struct kernfs_node *)kn, name);
		/* Bounded here, in one register, as the verifier of Linux 6.1 requires. */
		to = at;
		barrier_var(to);
		if (to > LWPS_PATH - LWPS_PATH_PART)
			return;
		n = bpf_probe_read_kernel_str(&p->parts[to], LWPS_PATH_PART, name);
		if (n <= 0 || n >= LWPS_PATH_PART)
			return;
		at += n;
		p->nparts++;
		kn = parent;
	}
}

#endif /* TASK_BPF_H */
