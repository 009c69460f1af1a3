/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * divide.bpf.c - BPF programs that divide the counts of the CPUs among the cgroups, users or
 * commands that run there.
 *
 * The perf events belong to the CPUs.  A slice of a CPU ends at a context switch to a task with
 * another key, or when the key of the current task changes.  Then the CPU's counters are read, and
 * their increase since the last time is charged to the slot of the key.  Each slot has counts for
 * each CPU, so no CPU waits for another.  Slices follow each other without a gap, so the sum of
 * all slots is what the CPUs have counted.
 *
 * From Linux 7.0 on the kernel may skip programs that run with preemption on: all except
 * on_switch().  The change of a key that they miss is noticed at the end of the slice, and the
 * counts are marked.  They are also marked if another task renames the running one, or moves it to
 * another cgroup and on_moved_here() is not called.  on_move() is not among those that are skipped:
 * the kernel moves tasks one after the other.
 */
#include "event.bpf.h"

#include "../account_shared.h"

#define HEADER_WORDS ACCOUNT_HEADER_WORDS
#include "slice.bpf.h"
#include "task.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 by = 0;	 /* enum account_by */
const volatile __u32 groups = 1; /* slots have groups */

__u64 late;	 /* changes of keys that were noticed late */
__u64 many_cpus; /* switches on CPUs whose number is out of range */
__u64 renames;	 /* of cgroups of version 1 */

/* A task that is no longer in the cgroup of its slice, until on_move() tells the cause. */
struct {
	__u64 task;	/* an address; or 0 */
	__u32 from, to; /* the slots of both cgroups */
} moving;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct account_owner);
	__uint(max_entries, 1); /* nslots */
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct account_cpu);
	__uint(max_entries, 1); /* ncpus */
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct account_key);
	__type(value, __u32);	/* slot */
	__uint(max_entries, 1); /* nslots */
} keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* ACCOUNT_PAIR_BYTES, with groups */
} pairs SEC(".maps");

static __always_inline struct account_cpu *this_cpu(void)
{
	__u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

static __always_inline struct lwps_slice *slice_of(__u32 cpu)
{
	struct account_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	return c ? &c->slice : NULL;
}

static __always_inline __u32 first_line(__u32 slot)
{
	return (slot * ncpus + bpf_get_smp_processor_id()) * nlines;
}

/* @n changes of keys were noticed late: the slot lacks counts, or has those of another key. */
static __always_inline void count_late(__u32 slot, __u32 n)
{
	__u32 key = first_line(slot);
	struct account_counts *s = bpf_map_lookup_elem(&slots, &key);

	if (s)
		__sync_fetch_and_add(&s->head.flaws, n * ACCOUNT_LATE);
}

/* ---- keys ---- */

static __always_inline void mark_of(struct task_struct *t, struct account_mark *m)
{
	m->word[0] = m->word[1] = 0;
	m->slot = 0;
	if (t->pid == 0) {
		m->slot = ACCOUNT_IDLE;
	} else if ((t->flags & PF_KTHREAD) || by == ACCOUNT_BY_NOTHING) {
		m->slot = ACCOUNT_KERNEL;
	} else if (by == ACCOUNT_BY_CGROUP) {
		m->word[0] = (__u64)t->cgroups;
	} else if (by == ACCOUNT_BY_USER) {
		m->word[0] = euid_of(t);
	} else {
		m->word[0] = *(__u64 *)&t->comm[0]; /* without a call of a helper */
		m->word[1] = *(__u64 *)&t->comm[8];
	}
}

static __always_inline bool same_mark(const struct account_mark *a, const struct account_mark *b)
{
	return a->word[0] == b->word[0] && (by != ACCOUNT_BY_COMMAND || a->word[1] == b->word[1]) &&
	       a->slot == b->slot;
}

/* Make a slot for c->key. */
__noinline __u32 new_slot(struct account_cpu *c)
{
	struct account_owner *o;
	struct account_key key;
	__u32 slot, *other;

	if (!c)
		return ACCOUNT_OTHERS;
	key = c->key;
	slot = c->spare;
	if (!slot)
		slot = take_slot();
	c->spare = 0;
	o = bpf_map_lookup_elem(&owners, &slot);
	if (slot == ACCOUNT_OTHERS || !o)
		return ACCOUNT_OTHERS;
	o->key = key;
	o->group = 0;
	if (by == ACCOUNT_BY_CGROUP)
		store_path(&o->path, c->cgroup);
	if (bpf_map_update_elem(&keys, &key, &slot, BPF_NOEXIST) == 0)
		return slot;
	/* Another CPU has added the key meanwhile. */
	c->spare = slot;
	other = bpf_map_lookup_elem(&keys, &key);
	return other ? *other : ACCOUNT_OTHERS;
}

static __always_inline __u32 slot_of_key(struct account_cpu *c)
{
	__u32 *slot = bpf_map_lookup_elem(&keys, &c->key);

	return slot ? *slot : new_slot(c);
}

/* The slot of @t, whose mark is @m. */
static __always_inline __u32 slot_of(struct account_cpu *c, struct task_struct *t,
				     const struct account_mark *m)
{
	struct kernfs_node *kn;

	if (m->slot)
		return m->slot;
	c->key.word[0] = m->word[0];
	c->key.word[1] = m->word[1];
	if (by == ACCOUNT_BY_CGROUP) {
		kn = cgroup_of(t)->kn;
		c->key.word[0] = kn->id;
		c->cgroup = (__u64)kn;
	}
	return slot_of_key(c);
}

#include "waits.bpf.h"

/* ---- slices ---- */

/*
 * Does @to take the CPU from a task of another group, whose slot is @from?  If that is unknown yet,
 * user space finds out.
 */
static __always_inline bool is_other(__u32 from, __u32 to)
{
	struct account_pair pair = {.from = from, .to = to};
	struct account_owner *a, *b;

	if (to == ACCOUNT_IDLE)
		return false;
	if (!groups || from < ACCOUNT_FIRST || to < ACCOUNT_FIRST)
		return true;
	a = bpf_map_lookup_elem(&owners, &from);
	b = bpf_map_lookup_elem(&owners, &to);
	if (!a || !b)
		return true;
	if (a->group && b->group)
		return a->group != b->group;
	if (bpf_ringbuf_output(&pairs, &pair, sizeof(pair), BPF_RB_NO_WAKEUP))
		flaw(from, LWPS_NO_MEMORY);
	return false;
}

/*
 * From here on this CPU counts for @t, whose mark is @m.  @preempts: and no longer for a task that
 * did not block.
 */
static __always_inline void count_for(struct account_cpu *c, struct task_struct *t,
				      const struct account_mark *m, bool preempts)
{
	const __u32 slot = slot_of(c, t, m);

	if (slot != c->slice.slot) {
		if (counts_preemptions && preempts && is_other(c->slice.slot, slot))
			c->slice.now[LWPS_OTHER]++;
		charge_slice(&c->slice);
	}
	c->slice.slot = slot;
	c->mark = *m;
}

/*
 * If the key of @t, which runs here, has changed at the start of this slice, use the new key.
 * @goes_on: an interrupt may have come before the change, which is still expected then.
 */
static __always_inline void resolve_change(struct account_cpu *c, struct task_struct *t,
					   bool goes_on)
{
	struct account_mark m;

	if (!c->changing)
		return;
	mark_of(t, &m);
	c->changing = goes_on && same_mark(&m, &c->mark);
	c->slice.slot = slot_of(c, t, &m);
	c->mark = m;
}

/* The first slice of this CPU begins; or the kernel has not reported a switch. */
static __always_inline void lose_switch(struct account_cpu *c)
{
	c->changing = 0;
	if (c->slice.task)
		miss_switch(c->slice.slot, LWPS_NO_SWITCH);
	else
		c->slice.slot = c->mark.slot = ACCOUNT_BEFORE; /* the mark of no task */
}

static __always_inline void mark_late(__u32 from, __u32 to)
{
	__sync_fetch_and_add(&late, 1);
	count_late(from, 1);
	count_late(to, 1);
}

/*
 * The kernel puts a task into another cgroup some microseconds before it calls on_move(), which
 * knows the task that moved it.  One that moved itself has run in the kernel only since then.
 */
static __always_inline bool await_move(struct task_struct *t, __u32 from, __u32 to)
{
	if (by != ACCOUNT_BY_CGROUP || __sync_val_compare_and_swap(&moving.task, 0, (__u64)t) != 0)
		return false;
	moving.from = from;
	moving.to = to;
	return true;
}

/*
 * The slice of @t ends here.  Did another CPU change its key meanwhile, see mark_running()?  An
 * unchanged mark does not disprove that: the key may have been changed back.
 */
static __always_inline bool settle_moved(struct account_cpu *c, struct task_struct *t)
{
	const __u64 moved = c->moved;

	if (!moved)
		return false;
	__sync_val_compare_and_swap(&c->moved, moved, 0);
	if (moved != (__u64)t)
		return false;
	count_late(c->slice.slot, 1); /* mark_running() has marked the other slot */
	return true;
}

/*
 * The slice of @t ends here, and its mark has changed.  That does not prove a late change: a move
 * in another hierarchy changes the mark, but not the key.
 */
static __always_inline void notice_late(struct account_cpu *c, struct task_struct *t,
					const struct account_mark *m)
{
	const __u32 slot = slot_of(c, t, m);

	if (slot != c->slice.slot && !await_move(t, c->slice.slot, slot))
		mark_late(c->slice.slot, slot);
}

/* @t has run here up to now, and @goes_on or not: check that its slice has the right slot. */
static __always_inline void end_task(struct account_cpu *c, struct task_struct *t, bool goes_on)
{
	struct account_mark m;

	if (unlikely(c->slice.task != (__u64)t)) {
		lose_switch(c);
		return;
	}
	resolve_change(c, t, goes_on);
	mark_of(t, &m);
	if (unlikely(c->moved) && settle_moved(c, t))
		return;
	if (unlikely(!same_mark(&m, &c->mark)))
		notice_late(c, t, &m);
}

/* The key of the current task is about to change: end its slice here. */
static __always_inline void expect_change(void)
{
	struct account_cpu *c;

	preempt_off();
	c = this_cpu();
	if (c && c->slice.task == bpf_get_current_task()) {
		begin_change(&c->slice);
		end_task(c, bpf_get_current_task_btf(), false);
		count_delay(c, bpf_get_current_task_btf());
		charge_slice(&c->slice);
		c->changing = 1;
		end_change(&c->slice);
	}
	preempt_on();
}

/*
 * This CPU switches to @t.  A rename that begins now must find @t here.  A move has been done by
 * the time that it looks for @t, and must find it with its new mark only.
 */
static __always_inline void switch_in(struct account_cpu *c, struct task_struct *t, bool preempts)
{
	struct account_mark m;

	c->slice.task = by != ACCOUNT_BY_CGROUP ? (__u64)t : 0;
	barrier();
	c->slice.now[LWPS_SWITCH]++;
	mark_of(t, &m);
	if (!same_mark(&m, &c->mark))
		count_for(c, t, &m, preempts);
	if (counts_delay && outsiders && t->pid != 0)
		delay_charged(t);
	/* Its last switch away may have been hidden: see on_sched_exit(). */
	if (counts_delay && unlikely(t->tgid == INIT_TGID))
		count_delay(c, t);
	c->nivcsw = t->nivcsw;
	barrier();
	c->slice.task = (__u64)t;
}

/* @t has run here, and leaves the CPU now: did it not block? */
static __always_inline bool was_preempted(struct account_cpu *c, struct task_struct *t)
{
	if (!counts_preemptions || c->slice.task != (__u64)t || t->pid == 0)
		return false;
	if (t->nivcsw == c->nivcsw)
		return false;
	c->slice.now[LWPS_PREEMPT]++;
	return true;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	struct account_cpu *c = this_cpu();
	bool preempts;

	if (unlikely(!c)) {
		__sync_fetch_and_add(&many_cpus, 1);
		return 0;
	}
	if (unlikely(prev->tgid == INIT_TGID))
		saw_init_switch = 1;
	preempts = was_preempted(c, prev);
	end_task(c, prev, false);
	count_delay(c, prev);
	count_throttled(c, prev);
	switch_in(c, next, preempts);
	return 0;
}

static __always_inline void make_up(struct task_struct *t)
{
	struct account_cpu *c = this_cpu();

	/* The kernel hides switches from process 1 always or never. */
	if (!c || !c->slice.task || (saw_init_switch && !repaired))
		return;
	__sync_fetch_and_add(&repaired, 1);
	switch_in(c, t, false);
}

/* ---- keys that change ---- */

/* The current task @t has another key from now on. */
static __always_inline void key_changed(struct task_struct *t)
{
	struct account_cpu *c;
	struct account_mark m;

	preempt_off();
	c = this_cpu();
	if (c && c->slice.task == (__u64)t) {
		begin_change(&c->slice);
		settle_moved(c, t);
		mark_of(t, &m);
		count_delay(c, t);
		count_for(c, t, &m, false);
		end_change(&c->slice);
	}
	preempt_on();
}

static __always_inline __u32 tgid_of(__u64 task)
{
	return BPF_CORE_READ((struct task_struct *)task, tgid);
}

/*
 * Mark the tasks that run on other CPUs and whose key the current task changes from outside:
 * @changed, or its whole process.  Returns the number of those whose slices have another mark than
 * @m.  Adds to @changing the number of those that have just changed their keys themselves: their
 * slices will be charged to the last key.
 */
static __always_inline __u32 mark_running(struct task_struct *changed, bool whole_process,
					  const struct account_mark *m, __u32 *changing)
{
	const __u32 tgid = tgid_of((__u64)changed);
	struct account_cpu *c;
	__u32 cpu, key, n = 0;
	__u64 task;

#pragma clang loop unroll(disable)
	for (cpu = 0; cpu < ncpus; cpu++) {
		key = cpu;
		c = bpf_map_lookup_elem(&cpus, &key);
		if (!c)
			break;
		task = *(volatile __u64 *)&c->slice.task;
		if (!task || task == bpf_get_current_task() ||
		    (task != (__u64)changed && !(whole_process && tgid_of(task) == tgid)))
			continue;
		*changing += c->changing;
		if (c->changing || !same_mark(m, &c->mark))
			n++;
		else if (by == ACCOUNT_BY_CGROUP)
			continue; /* it was moved before this slice began */
		c->moved = task;
	}
	__sync_fetch_and_add(&late, n);
	return n;
}

/* @n tasks on other CPUs get or lose a key while they run.  @c is this CPU. */
static __always_inline void count_late_in(struct account_cpu *c, const struct account_key *key,
					  __u64 cgroup, __u32 n)
{
	begin_change(&c->slice);
	c->key.word[0] = key->word[0];
	c->key.word[1] = key->word[1];
	c->cgroup = cgroup;
	count_late(slot_of_key(c), n);
	end_change(&c->slice);
}

/* The task that waits for a move, if any, was moved by @mover. */
static __always_inline void confirm_move(struct task_struct *mover)
{
	if (moving.task && moving.task != (__u64)mover)
		mark_late(moving.from, moving.to);
	moving.task = 0;
}

/* Another task has moved @moved, or its whole process, @to another cgroup. */
static __always_inline void mark_moved(struct cgroup *to, struct task_struct *moved,
				       bool whole_process)
{
	struct account_mark m = {.word[0] = (__u64)BPF_CORE_READ(moved, cgroups)};
	const struct account_key key = {.word[0] = BPF_CORE_READ(to, kn, id)};
	__u32 n, changing = 0;
	struct account_cpu *c;

	preempt_off();
	c = this_cpu();
	n = mark_running(moved, whole_process, &m, &changing);
	if (c && n)
		count_late_in(c, &key, (__u64)BPF_CORE_READ(to, kn), n);
	preempt_on();
}

/* Called after a move, under the kernel's cgroup_mutex. */
SEC("raw_tp/cgroup_attach_task")
int BPF_PROG(on_move, struct cgroup *to, const char *path, struct task_struct *moved,
	     bool whole_process)
{
	struct task_struct *t = bpf_get_current_task_btf();

	if (by != ACCOUNT_BY_CGROUP || BPF_CORE_READ(to, root) != cgroup_of(t)->root)
		return 0;
	confirm_move(t);
	mark_moved(to, moved, whole_process);
	if (whole_process ? BPF_CORE_READ(moved, tgid) == t->tgid : moved == t)
		key_changed(t);
	return 0;
}

/*
 * Called by a kprobe on the CPU of a task that runs and was just moved to another cgroup of version
 * 2, where the kernel switches its own counters of cgroups.  on_move() follows.
 */
SEC("kprobe")
int on_moved_here(void *registers)
{
	const struct account_cpu *c = this_cpu();

	/* Did this interrupt come in the middle of a change?  Then on_move() marks it as late. */
	if (by == ACCOUNT_BY_CGROUP && c && !c->slice.busy)
		key_changed(bpf_get_current_task_btf());
	return 0;
}

/* Called after a cgroup of version 1 got another name, so that the paths in owners are obsolete. */
SEC("raw_tp/cgroup_rename")
int BPF_PROG(on_cgroup_rename)
{
	__sync_fetch_and_add(&renames, 1);
	return 0;
}

/* Called by a kprobe at commit_creds(), before the current task gets another user. */
SEC("kprobe")
int on_commit_creds(void *registers)
{
	if (by == ACCOUNT_BY_USER)
		expect_change();
	return 0;
}

/* The current task renames @renamed, another thread of its process, which may be running. */
static __always_inline void mark_renamed(struct task_struct *renamed, const char *name)
{
	struct account_key before = {}, after = {};
	struct account_mark m = {};
	__u32 n, changing = 0;
	struct account_cpu *c;

	bpf_probe_read_kernel(before.word, sizeof(before.word), renamed->comm);
	bpf_probe_read_kernel_str(after.word, sizeof(after.word), name);
	m.word[0] = after.word[0];
	m.word[1] = after.word[1];
	if (before.word[0] == m.word[0] && before.word[1] == m.word[1])
		return;
	preempt_off();
	c = this_cpu();
	n = mark_running(renamed, false, &m, &changing);
	if (c && n)
		count_late_in(c, &after, 0, n);
	if (c && changing)
		count_late_in(c, &before, 0, changing);
	preempt_on();
}

/* Called before the rename.  Exec renames, too; the kernel itself renames its threads. */
SEC("raw_tp/task_rename")
int BPF_PROG(on_rename, struct task_struct *renamed, const char *name)
{
	if (by != ACCOUNT_BY_COMMAND)
		return 0;
	if ((__u64)renamed == bpf_get_current_task())
		expect_change();
	else if (!(BPF_CORE_READ(renamed, flags) & PF_KTHREAD))
		mark_renamed(renamed, name);
	return 0;
}

/* ---- calls from user space ---- */

/* Never attached: user space runs it before all others. */
SEC("raw_tp/account_find_events")
int BPF_PROG(on_find_events)
{
	struct task_group *group = NULL;

	find_events();
	has_quotas = bpf_core_field_exists(group->cfs_bandwidth.throttled_time);
	if (!opened_ns)
		opened_ns = bpf_ktime_get_ns();
	return 0;
}

/* Never attached: user space runs it on a CPU of its choice, to end the slice there. */
SEC("raw_tp/account_flush")
int BPF_PROG(on_flush)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct account_cpu *c = this_cpu();
	struct account_mark m;

	if (!c)
		return 0;
	if (c->slice.busy)
		return ACCOUNT_BUSY;
	/* Did this interrupt come before on_sched_exit()? */
	if (has_sched_exit && unlikely(c->slice.task != (__u64)t))
		make_up(t);
	end_task(c, t, true);
	count_delay(c, t);
	count_throttled(c, t);
	charge_slice(&c->slice);
	mark_of(t, &m);
	if (c->slice.task != (__u64)t)
		c->nivcsw = t->nivcsw; /* switch_in() was not called for @t */
	c->slice.task = (__u64)t;
	c->slice.slot = slot_of(c, t, &m);
	c->mark = m;
	return 0;
}
