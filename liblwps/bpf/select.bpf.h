/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * select.bpf.h - select the tasks of a cgroup or user, or all tasks.
 */
#ifndef SELECT_BPF_H
#define SELECT_BPF_H

#include "slot.bpf.h"

#define MAX_LEVELS 64 /* levels of cgroups that are searched */

/* Both ids of @t; one is 0 if @t has none in the tool's PID namespace. */
static __always_inline __u64 visible_ids(struct task_struct *t)
{
	return visible_tid(t) | (__u64)visible_tgid(t) << 32;
}

static __always_inline bool is_in_cgroup(struct task_struct *t)
{
	struct cgroup *cgroup = cgroup_of(t);
	const __u32 level = root_level + depth;

	if (cgroup->level < (int)level)
		return false;
	if (cgroup->level == (int)level)
		return cgroup->kn->id == selected;
	return ancestor_id(cgroup, level) == selected;
}

/* Is @t, which is not tracked yet, to be tracked?  The tool and its children never are. */
static __always_inline bool is_selected(struct task_struct *t)
{
	if (!select || !selecting || t->flags & (PF_KTHREAD | PF_EXITING))
		return false;
	if (t->pid == 0)
		return false;
	if (select == LWPS_SELECT_CGROUP && !is_in_cgroup(t))
		return false;
	if (select == LWPS_SELECT_USER && euid_of(t) != (__u32)selected)
		return false;
	if ((__u32)t->tgid == tool_tgid || (__u32)t->real_parent->tgid == tool_tgid)
		return false;
	return initial || (visible_tid(t) && visible_tgid(t));
}

/* Claim an existing task.  NULL: it is claimed already, or there is no memory now. */
static __always_inline struct lwp *claim(struct task_struct *t)
{
	struct lwp *l;

	if (no_storage_slot(t) != LWPS_NONE)
		return NULL;
	l = storage_of(t);
	return l && __sync_val_compare_and_swap(&l->state, NEW, CLAIMED) == NEW ? l : NULL;
}

/*
 * Begin to track @t, which comes to this CPU, if it is selected.  Before Linux 6.4 task storage
 * cannot be created here: wake user space, which lets the iterator track @t.
 */
static __always_inline struct lwp *enter(struct task_struct *t)
{
	struct lwp *l;
	void *empty;

	if (!is_selected(t))
		return NULL;
	if (!births_at_wakeup) {
		if (entered)
			return NULL;
		entered = 1;
		empty = bpf_ringbuf_reserve(&ring, sizeof(__u64), 0);
		if (empty)
			bpf_ringbuf_discard(empty, BPF_RB_FORCE_WAKEUP);
		return NULL;
	}
	l = claim(t);
	if (!l)
		return NULL;
	init_lwp(l, t, begin_slot(LWPS_ATTACH, visible_ids(t), LWPS_NONE, is_elsewhere(t)), false);
	l->state = LIVE;
	return l;
}

/* Begin to track the current task @t, which executes a program, if it is selected. */
static __always_inline struct lwp *enter_by_exec(struct task_struct *t)
{
	struct lwp *l;

	if (!is_selected(t))
		return NULL;
	l = claim(t);
	if (!l)
		return NULL;
	init_lwp(l, t, LWPS_NONE, true);
	l->switches = t->nvcsw + t->nivcsw + 1; /* as switch_in() does */
	l->cpu = bpf_get_smp_processor_id();
	__sync_fetch_and_add(&live, 1);
	l->state = LIVE;
	return l;
}

/* Find the level of the hierarchy's root among the ancestors of the cgroup of @t, the tool. */
static __always_inline void find_root(struct task_struct *t)
{
	struct cgroup *cgroup = cgroup_of(t);
	const int level = cgroup->level;
	int i;

#pragma clang loop unroll(disable)
	for (i = 0; i < MAX_LEVELS && i <= level; i++) {
		if (ancestor_id(cgroup, i) != root_id)
			continue;
		root_level = i;
		root_found = 1;
		break;
	}
}

#endif /* SELECT_BPF_H */
