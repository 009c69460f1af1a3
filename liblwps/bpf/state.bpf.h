/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * state.bpf.h - constants, variables and maps of count.bpf.c; the state of a task.
 */
#ifndef STATE_BPF_H
#define STATE_BPF_H

#define HEADER_WORDS LWPS_HEADER_WORDS
#include "slice.bpf.h"
#include "task.bpf.h"

/* Constants, as in event.bpf.h. */
const volatile __u32 ring_spare = 0;	   /* above this fill level, records carry no arguments */
const volatile __u32 ring_high = 0;	   /* above this fill level, the reader is woken earlier */
const volatile __u32 births_at_wakeup = 1; /* on_wakeup_new() reports births, or on_newtask() */
const volatile __u32 follow_fork = 1, follow_exec = 1;
const volatile __u32 attaches = 1;		/* lwps_attach() will be called */
const volatile __u32 descendants = 1;		/* lwps_attach() also attaches to all descendants */
const volatile __u32 names = 1;			/* records carry the names of LWPs */
const volatile __u32 initial = 0;		/* the tool is in the initial PID namespace */
const volatile __u32 select = LWPS_SELECT_TREE; /* how tasks are selected: enum lwps_select */
const volatile __u64 selected = 0;		/* the id of the cgroup or user */
const volatile __u64 root_id = 0;   /* the id of the hierarchy's root that the tool sees... */
const volatile __u32 depth = 0;	    /* ...and the number of levels down to the cgroup */
const volatile __u32 owners = 0;    /* the kinds of owners to store: bits of enum lwps_owners */
const volatile __u32 functions = 1; /* a column counts calls of a function */
const volatile __u32 sessions = 0;  /* a column counts returns by on_session() */
const volatile __u8 returns[LWPS_MAX_COLUMNS]; /* the column counts returns of a function */
const volatile __u32 start_off = 0;	       /* LWPs are not counted until they ask for it */

/* Variables that user space reads or sets. */
__u32 tool_tgid; /* in the initial PID namespace */
__u32 level;	 /* of the tool's PID namespace */
__u64 namespace;
__u64 tool_mounts, tool_root, tool_root_mount; /* its namespace and root: addresses */
__u32 root_pending;	 /* the next process that the tool creates is the root of the tree */
__u32 waiting;		 /* counting has not begun */
__u32 turn;		 /* the turn that on_call(LWPS_TURN) begins */
__u32 attaching;	 /* the iterator is attaching to existing tasks */
__u64 postponed;	 /* how often it could not attach to a task yet */
__u64 discovered;	 /* LWPs that it has attached to */
__u32 selecting;	 /* `select` is in force */
__u32 root_level;	 /* the level of the cgroup `root_id`... */
__u32 root_found;	 /* ...which is an ancestor of the tool's cgroup */
__u32 noting;		 /* the iterator only stores the owners of tracked LWPs */
struct lwps_path walked; /* the iterator's buffer */
__u32 entered;		 /* Linux before 6.4: a selected task has come to a CPU */
__u32 leader_exited;	 /* the leader of a target has exited: an exec would take over its id */
__u32 live;
__u32 no_storage_seen; /* an LWP had no task storage */
__u64 woken_ns;
__u64 children; /* processes that tracked LWPs created, but that are not followed */
/* Losses. */
__u64 ring_full, errors, outside, late_execs, late_exits;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lwps_cpu);
	__uint(max_entries, 1); /* ncpus */
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/*
 * The state of a task.  A compare-and-swap decides which of several programs moves it:
 *
 *             claim              begin           exit, or an exec that is not followed
 *        NEW -------> CLAIMED -----------> LIVE ---------------------------------------> ENDED
 *         |              |                                                                 ^
 *         |              +-- exit ---------------------------------------------------------+
 *         +----------------- exit ---------------------------------------------------------+
 *
 * claim: born() for the creator, enter() at a switch to the task, enter_by_exec() in the task, or
 *	on_task() at any moment.  The claimer allocates the slot and reports the birth.
 * begin: the claimer.  Only for on_task() can an exit come first; then it reports the exit, too.
 * exit: end_lwp(), for on_exit() or at the last switch.  It reports the exit of a LIVE task; it
 *	keeps on_task() from claiming a NEW one.
 *
 * A task that no other program can claim is LIVE at once: the root of the tree, and a task of
 * `no_storage` that gets its storage.
 */
enum state { NEW, CLAIMED, LIVE, ENDED };

struct lwp {
	__u32 state;
	__u32 slot;	/* LWPS_NONE: it is the root, before its exec */
	__u32 cpu;	/* it ran on last, or LWPS_NONE */
	__u16 counted;	/* `switches` is known */
	__u16 off;	/* it has switched its counts off */
	__u64 switches; /* the number of switches it should have when it next comes to a CPU */
	__u64 exec_id;	/* its self_exec_id at its last known exec */
	__u64 delay;	/* its delay_of()... */
	__u64 nivcsw;	/* ...and its preemptions, when it was charged last */
	__u64 pending;	/* calls whose returns are counted, and have not returned */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lwp);
} lwps SEC(".maps");

/* The slots of LWPs that the kernel had no task storage for, by the address of the task. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u32);
	__uint(max_entries, LWPS_NO_STORAGE);
} no_storage SEC(".maps");

/* The processes that are being attached to: 1 once an LWP of the process was found. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32); /* its id in the tool's PID namespace */
	__type(value, __u32);
	__uint(max_entries, 1); /* LWPS_AT_ONCE or LWPS_IN_TREES, if lwps_attach() will be called */
} attach_targets SEC(".maps");

/* The paths of cgroups by their ids.  The kernel drops the least recently used ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u64);
	__type(value, struct lwps_path);
	__uint(max_entries, 1); /* LWPS_PATHS, with LWPS_OWNER_CGROUP */
} paths SEC(".maps");

/* The slot to charge an LWP's slices to now; LWPS_NONE: it is not counted. */
static __always_inline __u32 charged(const struct lwp *l)
{
	return l->off || waiting ? LWPS_NONE : l->slot;
}

static __always_inline struct lwps_slice *slice_of(__u32 cpu)
{
	struct lwps_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	return c ? &c->slice : NULL;
}

static __always_inline struct lwps_cpu *this_cpu(void)
{
	__u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

/*
 * The index in `slots` of the first line of a slot.  LWPS_NONE and LWPS_SHARED mean this CPU's slot
 * for untracked tasks and its part of the shared slot.  A CPU whose number is out of range uses
 * those of CPU 0.
 */
static __always_inline __u32 first_line(__u32 slot)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (cpu >= ncpus)
		cpu = 0;
	if (slot == LWPS_NONE)
		return (LWPS_OF_CPU * cpu + LWPS_CPU_UNTRACKED) * nlines;
	if (slot == LWPS_SHARED)
		return (LWPS_OF_CPU * cpu + LWPS_CPU_SHARED) * nlines;
	return (LWPS_OF_CPU * ncpus + slot) * nlines;
}

static __always_inline struct lwps_slot *slot_of(__u32 slot)
{
	__u32 key = first_line(slot);

	return bpf_map_lookup_elem(&slots, &key);
}

/*
 * The task storage of @t, created if it is missing.  NULL: the kernel has no memory, or a task
 * was interrupted on this CPU while it used task storage.
 */
static __always_inline struct lwp *storage_of(struct task_struct *t)
{
	struct lwp *l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	/* Of two CPUs that create it at the same moment, one gets NULL. */
	return l ? l : bpf_task_storage_get(&lwps, t, 0, 0);
}

static __always_inline struct lwp *tracked(struct task_struct *t)
{
	struct lwp *l = bpf_task_storage_get(&lwps, t, 0, 0);

	return l && l->state == LIVE ? l : NULL;
}

/* The entry of @pid for the tool's PID namespace. */
static __always_inline struct upid *upid_of(struct pid *pid)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The id of @t in the tool's PID namespace; 0: it has none there. */
static __noinline __u32 visible(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	struct upid *u = upid_of(pid);

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

#endif /* STATE_BPF_H */
