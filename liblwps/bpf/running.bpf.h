/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * running.bpf.h - the LWP that runs on a CPU, whose slot is charged.
 */
#ifndef RUNNING_BPF_H
#define RUNNING_BPF_H

#include "state.bpf.h"

static __always_inline void count_switch(struct lwps_slice *s, __u64 prev_cgroup, __u64 next_cgroup)
{
	s->now[LWPS_SWITCH]++;
	if (prev_cgroup != next_cgroup)
		s->now[LWPS_CGROUP]++;
}

static __always_inline bool counts_any_wait(void)
{
	return counts_delay || counts_preemptions;
}

/*
 * @t runs here up to now: count its waits and preemptions since it was charged last.  The wait
 * before a switch to @t is known only afterwards.
 */
static __always_inline void count_waits(struct lwps_slice *s, struct lwp *l, struct task_struct *t)
{
	if (counts_delay) {
		const __u64 delay = delay_of(t);

		s->now[LWPS_DELAY] += delay - l->delay;
		l->delay = delay;
	}
	if (counts_preemptions) {
		const __u64 nivcsw = t->nivcsw;

		s->now[LWPS_PREEMPT] += nivcsw - l->nivcsw;
		l->nivcsw = nivcsw;
	}
}

/*
 * @t runs on this CPU from now on; it is tracked if @l is not NULL.  The kernel's own count of its
 * switches shows whether on_switch() has seen all of them.
 */
static __always_inline void switch_in(struct lwps_cpu *c, struct task_struct *t, struct lwp *l)
{
	struct lwps_slice *s = &c->slice;
	__u64 switches;
	__u32 cpu;

	s->task = (__u64)t;
	c->cgroup = perf_cgroup_of(t);
	c->tracked = l != NULL;
	s->slot = LWPS_NONE;
	if (!l)
		return;
	s->slot = charged(l);
	c->exec_id = l->exec_id;
	switches = t->nvcsw + t->nivcsw;
	if (unlikely(l->counted && l->switches != switches))
		miss_switch(s->slot, LWPS_NO_SWITCH);
	l->counted = 1;
	l->switches = switches + 1;
	/* Its last switch away may have been hidden: see on_sched_exit(). */
	if (counts_any_wait() && unlikely(t->tgid == INIT_TGID))
		count_waits(s, l, t);
	cpu = bpf_get_smp_processor_id();
	if (l->cpu != cpu && l->cpu != LWPS_NONE)
		s->now[LWPS_MIGRATE]++;
	l->cpu = cpu;
}

/*
 * The kernel did not report a switch: when this CPU's slice ended and that of @slot began is
 * unknown.
 */
static __always_inline void lose_switch(struct lwps_slice *s, __u32 slot)
{
	if (slot == LWPS_NONE && s->slot == LWPS_NONE)
		return;
	miss_switch(slot, LWPS_NO_SWITCH);
	flaw(s->slot, LWPS_NO_SWITCH);
	s->slot = LWPS_NONE;
}

/* This CPU's number is out of range: it does not count for @slot. */
static __always_inline void lose_cpu(__u32 slot)
{
	if (slot != LWPS_NONE)
		miss_switch(slot, LWPS_NO_CPU);
}

/*
 * End the slice of the current task, whose slot was @before, and charge what follows to @next.
 * Interrupts are on: refresh() may run in the middle, and leaves a busy CPU alone.
 */
__noinline int split_slice(struct lwp *l, __u32 before, __u32 next)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();
	struct lwps_slice *s;

	if (!l)
		return 0;
	if (!c) {
		lose_cpu(before);
		return 0;
	}
	s = &c->slice;
	if (unlikely(s->task != (__u64)t)) {
		/* No switch is lost if @t was attached to while it runs: s->task is not set yet. */
		lose_switch(s, l->counted ? before : LWPS_NONE);
	} else if (unlikely(l->counted && l->switches != t->nvcsw + t->nivcsw + 1)) {
		miss_switch(s->slot, LWPS_NO_SWITCH);
	}
	begin_change(s);
	if (counts_any_wait() && s->task == (__u64)t)
		count_waits(s, l, t);
	charge_slice(s);
	s->task = (__u64)t;
	c->cgroup = perf_cgroup_of(t);
	c->tracked = l->state == LIVE;
	c->exec_id = l->exec_id;
	s->slot = next;
	end_change(s);
	return 0;
}

#endif /* RUNNING_BPF_H */
