/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * waits.bpf.h - how long tasks waited for a CPU, and how long their cgroups were throttled: sums of
 * the kernel, of which what has been added since the last time is charged to the slice of a CPU.
 */
#ifndef WAITS_BPF_H
#define WAITS_BPF_H

#include "slice.bpf.h"

const volatile __u32 creates_at_switch = 1; /* task storage can be created at a switch */
const volatile __u32 counts_throttle = 1;   /* a column is of kind LWPS_THROTTLE */
const volatile __u32 outsiders = 1;	    /* there may be tasks that on_task() does not see */
__u32 has_quotas;			    /* the kernel can throttle cgroups */
__u64 opened_ns; /* when on_find_events() ran first: older tasks have waited before */
__u64 postponed; /* tasks that on_task() could not note */
__u32 finding;	 /* on_task() is being called: waits do not count yet */

/* With counts_delay: the delay_of() of each task when it was charged last. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} delays SEC(".maps");

/* With counts_throttle: the throttled_time of a cgroup, by its id, when it was charged last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 1); /* ACCOUNT_QUOTAS */
} throttled SEC(".maps");

/*
 * The entry of @t in `delays`.  It is created as 0 for a task that began after the tool did.  For
 * others on_task() has created it, unless they are outside of the tool's PID namespace: then it is
 * created when they first come to a CPU, before a wait is charged.  NULL: there is no entry, and it
 * cannot be created now, as when another program was interrupted that uses task storage.
 */
static __always_inline __u64 *delay_charged(struct task_struct *t)
{
	__u64 *charged = bpf_task_storage_get(&delays, t, 0, 0), begin;

	if (charged || !creates_at_switch)
		return charged;
	begin = t->start_time < opened_ns ? delay_of(t) : 0;
	return bpf_task_storage_get(&delays, t, &begin, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/*
 * @t runs here up to now: count its waits since it was charged last.  Those that cannot be charged
 * now are charged later, except at its last switch.
 */
static __always_inline void count_delay(struct account_cpu *c, struct task_struct *t)
{
	__u64 *charged, delay;

	if (!counts_delay || t->pid == 0)
		return;
	delay = delay_of(t);
	charged = delay_charged(t);
	if (!charged) {
		if (t->__state & TASK_DEAD)
			flaw(c->slice.slot, LWPS_NO_MEMORY);
		return;
	}
	if (!finding)
		c->slice.now[LWPS_DELAY] += delay - *charged;
	*charged = delay;
}

#define MAX_GROUPS 32

/*
 * For how long the cgroup of @t and those above it were throttled since the last call with @takes.
 * @takes: several CPUs may call it at once: one of them gets it.
 */
static __always_inline __u64 throttled_since(struct task_struct *t, bool takes)
{
	struct task_group *group = t->sched_task_group;
	__u64 id, now, before, *last, sum = 0;
	int i;

	for (i = 0; i < MAX_GROUPS && group; i++, group = group->parent) {
		now = group->cfs_bandwidth.throttled_time;
		if (now == 0 && group->cfs_bandwidth.quota == ~0ull)
			continue;
		id = group->css.cgroup->kn->id;
		last = bpf_map_lookup_elem(&throttled, &id);
		if (!last) {
			bpf_map_update_elem(&throttled, &id, &now, BPF_NOEXIST);
			continue;
		}
		before = *(volatile __u64 *)last;
		if (takes && now > before &&
		    __sync_val_compare_and_swap(last, before, now) == before)
			sum += now - before;
	}
	return sum;
}

static __always_inline bool has_throttled_time(void)
{
	struct task_group *group = NULL;

	return counts_throttle && bpf_core_field_exists(group->cfs_bandwidth.throttled_time);
}

/* @t has run here: its cgroup and those above it are not throttled now. */
static __always_inline void count_throttled(struct account_cpu *c, struct task_struct *t)
{
	if (has_throttled_time())
		c->slice.now[LWPS_THROTTLE] += throttled_since(t, true);
}

/* Called for each task that the tool sees: its waits up to now do not count. */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	__u64 *charged;

	if (!t)
		return 0;
	if (has_throttled_time())
		throttled_since(t, false);
	if (!counts_delay)
		return 0;
	charged = bpf_task_storage_get(&delays, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (charged)
		*charged = delay_of(t);
	else
		__sync_fetch_and_add(&postponed, 1);
	return 0;
}

/* Before Linux 6.4 task storage cannot be created at a switch. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *t)
{
	struct account_cpu *c = this_cpu();

	/* Without it the waits of @t would be lost: its creator has the same key as a rule. */
	if (counts_delay && c &&
	    !bpf_task_storage_get(&delays, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		flaw(c->slice.slot, LWPS_NO_MEMORY);
	return 0;
}

#endif /* WAITS_BPF_H */
