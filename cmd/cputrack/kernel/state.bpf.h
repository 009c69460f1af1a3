/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * state.bpf.h - what the programs share: constants, variables and maps; what a task is to them.
 */
#ifndef STATE_BPF_H
#define STATE_BPF_H

#include "types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "shared.h"

#define NULL ((void *)0)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() asm volatile("" ::: "memory")

/* Constants from user space: the verifier drops what they make needless. */
const volatile __u32 ncolumns = 1, ncpus = 1, nslots = 1;
const volatile __u32 nlines = 1; /* of a slot */
const volatile __u32 recycle_mask = 0;
const volatile __u32 ring_spare = 0; /* with so much in the ring, no more arguments */
const volatile __u32 ring_high = 0;  /* with so much in the ring, the reader is woken earlier */
const volatile __u32 weak_order = 0; /* CPUs see the stores of others in another order */
const volatile __u32 follow_fork = 1, follow_exec = 1;
const volatile __u32 attaches = 1;  /* lwps_attach() will be called */
const volatile __u32 names = 1;	    /* of LWPs are wanted */
const volatile __u32 initial = 0;   /* the tool is in the initial PID namespace */
const volatile __u32 start_off = 0; /* nothing is counted until the program asks for it */
const volatile __u8 kind[LWPS_MAX_COLUMNS];

/* Variables that user space sees. */
__u32 tool_tgid; /* of the initial PID namespace */
__u32 level;	 /* of the tool's PID namespace */
__u64 namespace;
__u32 expected;	  /* the exec of the next process that the tool makes begins the tree */
__u32 awaited;	  /* that process, once there is one */
__u32 waiting;	  /* nothing is counted yet */
__u32 attaching;  /* LWPs of processes are being added */
__u64 postponed;  /* how often one could not be */
__u32 leaderless; /* the leader of one has ended: who executes takes its id */
__u32 live;
__u32 strayed;	 /* there were strays */
__u32 init_told; /* sched_switch tells of switches away from process 1 */
__u64 woken_ns;
/* Slots: those never used, then a queue of those released, filled by user space alone. */
__u32 fresh, recycle_head, recycle_tail;
/* Losses. */
__u64 no_slot, ring_full, errors, outside, missed, repaired;

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 1); /* ncolumns * ncpus */
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lwps_line);
	__uint(max_entries, 1); /* (nslots + LWPS_OF_CPU * ncpus) * nlines */
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lwps_cpu);
	__uint(max_entries, 1); /* ncpus */
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 1); /* a power of two, nslots or more */
} recycled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* What is known of a task: NEW until somebody begins to track it. */
enum state { NEW, CLAIMED, LIVE, ENDED };

struct lwp {
	__u32 state;
	__u32 slot;
	__u32 cpu;	/* it ran on last, or LWPS_NONE */
	__u16 counted;	/* switches is known */
	__u16 off;	/* it is not counted for now */
	__u64 switches; /* that it will have done when it comes to a CPU the next time */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lwp);
} lwps SEC(".maps");

/* LWPs that were born when the kernel had no task storage for them, by their addresses. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u32); /* the slot */
	__uint(max_entries, LWPS_STRAYS);
} strays SEC(".maps");

/* The processes whose LWPs are being added: was one found? */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32); /* as the tool sees it */
	__type(value, __u32);
	__uint(max_entries, 1); /* LWPS_AT_ONCE, if there are to be any */
} joining SEC(".maps");

/* What an LWP's slices are charged to. */
static __always_inline __u32 charged(const struct lwp *l)
{
	return l->off || waiting ? LWPS_NONE : l->slot;
}

static __always_inline struct lwps_cpu *this_cpu(void)
{
	__u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

/*
 * 1 where @x is negative, else 0.  What follows has no branches where this is used, as the
 * verifier would try all combinations of them.
 */
static __always_inline __u64 is_negative(__u64 x)
{
	barrier_var(x); /* clang would compare, and branch */
	x >>= 63;
	barrier_var(x);
	return x;
}

static __always_inline __u64 is_not_0(__u64 x)
{
	return is_negative(x | -x);
}

/* All bits where @x is negative, to be applied to variables. */
static __always_inline __u64 if_negative(__s64 x)
{
	x >>= 63;
	barrier_var(x);
	return x;
}

/* The first line of a slot; of LWPS_SHARED, and of LWPS_NONE, each CPU has one. */
static __always_inline __u32 first_line(__u32 slot, __u32 on_cpu)
{
	const __u64 own = if_negative((__s64)(__u32)(slot + 1) - 2);
	const __u64 cpu = LWPS_OF_CPU * on_cpu + LWPS_CPU_NOBODY;

	_Static_assert((__u32)(LWPS_NONE + 1) == 0 && LWPS_SHARED == 0, "the two special ones");
	_Static_assert(LWPS_CPU_SHARED == LWPS_CPU_NOBODY + 1, "in the same order");
	return (((cpu + slot + 1) & own) | ((LWPS_OF_CPU * ncpus + slot) & ~own)) * nlines;
}

/* On a CPU that is not shared, those that each CPU has are the first one's. */
static __always_inline struct lwps_slot *slot_of(__u32 slot)
{
	const __u64 cpu = bpf_get_smp_processor_id();
	__u32 key = first_line(slot, cpu & if_negative(cpu - ncpus));

	return bpf_map_lookup_elem(&slots, &key);
}

/*
 * That of @t, made if there is none.  NULL without memory, and where somebody was interrupted
 * while he did the same; and of two that make it at the same moment the kernel gives it to one.
 */
static __always_inline struct lwp *lwp_of(struct task_struct *t)
{
	return bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct lwp *tracked(struct task_struct *t)
{
	struct lwp *l = bpf_task_storage_get(&lwps, t, 0, 0);

	return l && l->state == LIVE ? l : NULL;
}

/* The entry of @pid for the tool's PID namespace. */
static __always_inline struct upid *number(struct pid *pid)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/*
 * The id of @t in the tool's PID namespace; 0: it is not seen there.  The kernel takes its time
 * for each instruction of a program, also for those that it then drops: there is one copy.
 */
static __noinline __u32 visible(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	struct upid *u = number(pid);

	if (BPF_CORE_READ(pid, level) < level)
		return 0;
	return (__u64)BPF_CORE_READ(u, ns) == namespace ? BPF_CORE_READ(u, nr) : 0;
}

static __always_inline __u32 visible_tid(struct task_struct *t)
{
	return initial ? (__u32)t->pid : visible(t);
}

static __always_inline __u32 visible_tgid(struct task_struct *t)
{
	return initial ? (__u32)t->tgid : visible(BPF_CORE_READ(t, group_leader));
}

/* Functions that are not static are verified once in a program, and not where they are called. */
__noinline int flaw(__u32 slot, __u32 flaws)
{
	struct lwps_slot *s = slot_of(slot);

	if (s)
		__sync_fetch_and_or(&s->flaws, flaws);
	return 0;
}

#endif /* STATE_BPF_H */
