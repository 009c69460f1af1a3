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
 * counts are marked.  They are also marked if another task moves the running one to another cgroup,
 * or renames it.  on_move() is not among those that are skipped: the kernel moves tasks one after
 * the other.
 */
#include "event.bpf.h"
#include "task.bpf.h"

#include "../account_shared.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 by = 0; /* enum account_by */

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
	__type(value, struct lwps_line);
	__uint(max_entries, 1); /* nslots * ncpus * nlines */
} slots SEC(".maps");

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

static __always_inline struct account_cpu *this_cpu(void)
{
	__u32 key = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &key);
}

static __always_inline struct lwps_start *starts_of(__u32 cpu)
{
	struct account_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	return c ? c->start : NULL;
}

static __always_inline __u32 first_line(__u32 slot)
{
	return (slot * ncpus + bpf_get_smp_processor_id()) * nlines;
}

/* Other CPUs see the stores before this one before those after it. */
static __always_inline void fence(struct account_cpu *c)
{
	if (weak_order)
		__sync_fetch_and_add(&c->fence, 1);
	barrier();
}

static __always_inline void flaw(__u32 slot, __u32 flaws)
{
	__u32 key = first_line(slot);
	struct account_counts *s = bpf_map_lookup_elem(&slots, &key);

	if (s)
		__sync_fetch_and_or(&s->flaws, flaws);
}

/* @n changes of keys were noticed late: the slot lacks counts, or has those of another key. */
static __always_inline void count_late(__u32 slot, __u32 n)
{
	__u32 key = first_line(slot);
	struct account_counts *s = bpf_map_lookup_elem(&slots, &key);

	if (s)
		__sync_fetch_and_add(&s->flaws, n * ACCOUNT_LATE);
}

/* ---- keys ---- */

static __always_inline void mark_of(struct task_struct *t, struct account_mark *m)
{
	m->word[0] = m->word[1] = 0;
	m->slot = 0;
	if (t->pid == 0) {
		m->slot = ACCOUNT_IDLE;
	} else if (t->flags & PF_KTHREAD) {
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

/* ---- slices ---- */

/* The counts of column @i on this CPU since the last call. */
static __always_inline __u64 advance(struct account_cpu *c, __u32 i, __u64 now, __u32 *flaws)
{
	__u64 before = c->start[i].value;

	switch (kind[i]) {
	case LWPS_SOFTWARE:
		return load_event(&c->start[i], i, flaws);
	case LWPS_CPU:
		return read_event(&c->start[i], i, flaws);
	case LWPS_CLOCK:
		c->start[i].value = now;
		return now - before;
	case LWPS_SLICE:
		return LWPS_SLICE_NS;
	default:
		return c->switches;
	}
}

/* End the slice of this CPU and charge it to its slot; another begins. */
__noinline int charge_slice(struct account_cpu *c)
{
	/* Reading the clock takes 60 ns in some virtual machines. */
	const __u64 now = reads_clock ? bpf_ktime_get_ns() : 0;
	__u32 i, n, key, flaws = 0;
	struct account_counts *s;
	struct lwps_line *line;

	if (!c)
		return 0;
	key = first_line(c->slot);
	line = bpf_map_lookup_elem(&slots, &key);
	s = (void *)line;
	if (!s)
		return 0;
	s->sequence++;
	fence(c);
#pragma clang loop unroll(disable)
	for (i = 0; i < LWPS_MAX_COLUMNS && i < ncolumns; i++) {
		n = ACCOUNT_HEADER_WORDS + i;
		if (n % LWPS_LINE_WORDS == 0) {
			key++;
			line = bpf_map_lookup_elem(&slots, &key);
			if (!line)
				return 0;
		}
		line->word[n % LWPS_LINE_WORDS] += advance(c, i, now, &flaws);
	}
	fence(c);
	s->sequence++;
	c->switches = 0;
	if (unlikely(flaws))
		__sync_fetch_and_or(&s->flaws, flaws);
	return 0;
}

/* From here on this CPU counts for @t, whose mark is @m. */
static __always_inline void count_for(struct account_cpu *c, struct task_struct *t,
				      const struct account_mark *m)
{
	const __u32 slot = slot_of(c, t, m);

	if (slot != c->slot)
		charge_slice(c);
	c->slot = slot;
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
	c->slot = slot_of(c, t, &m);
	c->mark = m;
}

/* The first slice of this CPU begins; or the kernel has not reported a switch. */
static __always_inline void lose_switch(struct account_cpu *c)
{
	c->changing = 0;
	if (!c->task) {
		c->slot = c->mark.slot = ACCOUNT_BEFORE; /* the mark of no task */
		return;
	}
	__sync_fetch_and_add(&missed, 1);
	flaw(c->slot, LWPS_NO_SWITCH);
}

static __always_inline void mark_late(__u32 from, __u32 to)
{
	__sync_fetch_and_add(&late, 1);
	count_late(from, 1);
	if (to != from)
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
	mark_late(c->slot, c->slot); /* mark_running() has marked the other slot */
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

	if (slot != c->slot && !await_move(t, c->slot, slot))
		mark_late(c->slot, slot);
}

/* @t has run here up to now, and @goes_on or not: check that its slice has the right slot. */
static __always_inline void end_task(struct account_cpu *c, struct task_struct *t, bool goes_on)
{
	struct account_mark m;

	if (unlikely(c->task != (__u64)t)) {
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
	if (c && c->task == bpf_get_current_task()) {
		c->busy = 1;
		barrier();
		end_task(c, bpf_get_current_task_btf(), false);
		charge_slice(c);
		c->changing = 1;
		barrier();
		c->busy = 0;
	}
	preempt_on();
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	struct account_cpu *c = this_cpu();
	struct account_mark after;

	if (unlikely(!c)) {
		__sync_fetch_and_add(&many_cpus, 1);
		return 0;
	}
	if (unlikely(prev->tgid == INIT_TGID))
		saw_init_switch = 1;
	end_task(c, prev, false);
	c->task = (__u64)next;
	c->switches++;
	mark_of(next, &after);
	if (!same_mark(&after, &c->mark))
		count_for(c, next, &after);
	return 0;
}

/* May the kernel have hidden the last switch on @c, which runs @t now?  See on_sched_exit(). */
static __always_inline bool is_hidden(struct account_cpu *c, struct task_struct *t)
{
	return has_sched_exit && c->task && c->task != (__u64)t && (!saw_init_switch || repaired);
}

/* This CPU has switched to @t, and on_switch() was not called. */
static __always_inline void make_up(struct account_cpu *c, struct task_struct *t)
{
	struct account_mark m;

	__sync_fetch_and_add(&repaired, 1);
	c->task = (__u64)t;
	c->switches++;
	mark_of(t, &m);
	if (!same_mark(&m, &c->mark))
		count_for(c, t, &m);
}

/* Make up for switches that on_switch() misses, as in count.bpf.c. */
SEC("raw_tp/sched_exit_tp")
int BPF_PROG(on_sched_exit)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct account_cpu *c;

	if (!has_sched_exit)
		return 0;
	preempt_off();
	c = this_cpu();
	if (c && is_hidden(c, t)) {
		c->busy = 1;
		barrier();
		make_up(c, t);
		barrier();
		c->busy = 0;
	}
	preempt_on();
	return 0;
}

/* ---- keys that change ---- */

/* The current task @t has another key from now on. */
static __always_inline void key_changed(struct task_struct *t)
{
	struct account_cpu *c;
	struct account_mark m;

	preempt_off();
	c = this_cpu();
	if (c && c->task == (__u64)t) {
		c->busy = 1;
		barrier();
		settle_moved(c, t);
		mark_of(t, &m);
		count_for(c, t, &m);
		barrier();
		c->busy = 0;
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
		task = *(volatile __u64 *)&c->task;
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
	return n;
}

/* @n tasks on other CPUs get or lose a key while they run.  @c is this CPU. */
static __always_inline void count_late_in(struct account_cpu *c, const struct account_key *key,
					  __u64 cgroup, __u32 n)
{
	c->busy = 1;
	barrier();
	c->key.word[0] = key->word[0];
	c->key.word[1] = key->word[1];
	c->cgroup = cgroup;
	count_late(slot_of_key(c), n);
	barrier();
	c->busy = 0;
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
	find_events();
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
	if (c->busy)
		return ACCOUNT_BUSY;
	if (unlikely(is_hidden(c, t))) /* the flush came before on_sched_exit() */
		make_up(c, t);
	end_task(c, t, true);
	charge_slice(c);
	mark_of(t, &m);
	c->task = (__u64)t;
	c->slot = slot_of(c, t, &m);
	c->mark = m;
	return 0;
}
