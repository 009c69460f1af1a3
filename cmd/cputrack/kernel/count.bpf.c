/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * count.bpf.c - programs in the kernel that count for each LWP of a tree of processes, and
 * tell of births, execs and ends, without stopping anybody.
 *
 * The events belong to the CPUs.  At a context switch the CPU's counters are read when the
 * task before or the task after is tracked; the difference since the last time is added to
 * the slot of the one before.  An LWP's slot is in its task storage.
 *
 * Raw tracepoints do for programs that look at the current task; the BTF of the others' tasks
 * is what task storage wants to see.  The first are loaded faster, and one whose tracepoint
 * this kernel lacks is only not attached.
 *
 * Tracepoints run with preemption off, but with interrupts on outside of the scheduler: that
 * is where refresh() may come in between.
 */
#include "record.bpf.h"
#include "slice.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- CPUs ---- */

/*
 * If @t is a stray, try again to make it like others.  What it has run before was not counted;
 * its switches tell that.
 */
static __always_inline void reclaim(struct task_struct *t)
{
	const __u64 key = (__u64)t;
	__u32 *slot = bpf_map_lookup_elem(&strays, &key);
	struct lwp *l;

	if (!slot)
		return;
	l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!l)
		return;
	l->slot = *slot;
	l->cpu = LWPS_NONE;
	l->counted = 1;
	l->off = start_off;
	l->state = LIVE;
	bpf_map_delete_elem(&strays, &key);
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct lwps_cpu *c = this_cpu();
	struct lwp *before, *after;
	bool known;

	if (!c)
		return 0;
	if (unlikely(strayed))
		reclaim(next);
	after = tracked(next);
	known = c->task == (__u64)prev;
	if (known && c->slot == LWPS_NONE && !after) {
		c->task = (__u64)next;
		return 0;
	}
	if (unlikely(!known)) {
		/* A switch before was not told: where its slice ended is not known. */
		before = tracked(prev);
		if (before && !before->counted)
			before = NULL; /* it was attached to in this moment */
		if (before || c->slot != LWPS_NONE)
			__sync_fetch_and_add(&missed, 1);
		if (before)
			flaw(before->slot, LWPS_NO_SWITCH);
		if (c->slot != LWPS_NONE)
			flaw(c->slot, LWPS_NO_SWITCH);
		c->slot = LWPS_NONE;
	}
	if (unlikely(c->busy))
		flaw(c->slot, LWPS_PREEMPTED);
	if (c->slot != LWPS_NONE || after)
		settle(c, c->slot, 1);
	arrive(c, next, after);
	return 0;
}

/* The LWP that runs here is brought up to date, or begun if it was attached to while it ran. */
static __always_inline void refresh(struct lwps_cpu *c, struct task_struct *t)
{
	struct lwp *l;

	if (c->busy)
		return;
	if (c->task == (__u64)t && c->slot != LWPS_NONE) {
		settle(c, c->slot, 0);
		return;
	}
	l = tracked(t);
	if (c->slot != LWPS_NONE || !l)
		return;
	settle(c, LWPS_NONE, 0);
	l->counted = 0;
	arrive(c, t, l);
}

/* The tool itself runs this: who is it? */
static __always_inline void identify(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	struct upid *u;

	tool_tgid = t->tgid;
	level = BPF_CORE_READ(pid, level);
	u = number(pid);
	namespace = (__u64)BPF_CORE_READ(u, ns);
}

/*
 * Where a task goes on after a switch (Linux 6.16).  Some kernels do not tell of some switches;
 * an instant later, here, is early enough.
 *
 * User space runs the same program to have other things done on a CPU: it costs less to load
 * one program than three.
 */
SEC("raw_tp/sched_exit_tp")
int on_resume(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();
	struct lwp *l;

	if (!c)
		return 0;
	if (ctx[0] == LWPS_REFRESH) {
		refresh(c, t);
		return 0;
	}
	if (ctx[0] == LWPS_IDENTIFY) {
		identify(t);
		return 0;
	}
	if (c->task == (__u64)t)
		return 0;
	l = tracked(t);
	if (l || c->slot != LWPS_NONE) {
		__sync_fetch_and_add(&repaired, 1);
		settle(c, c->slot, 1);
	}
	arrive(c, t, l);
	return 0;
}

/* ---- life ---- */

/*
 * A slot for an LWP; the shared one when there is no other.  @creator is the slot of who makes it
 * in the same process, if anybody does.
 */
__noinline __u32 take_slot(__u32 tid, __u32 tgid, __u32 creator)
{
	__u32 slot = LWPS_SHARED, head, tries, key;
	struct lwps_slot *s;
	__u64 *entry;

	/* Those used before first, which are in the caches. */
	for (tries = 0; tries < 8; tries++) {
		head = recycle_head;
		if (head == *(volatile __u32 *)&recycle_tail)
			break;
		if (__sync_val_compare_and_swap(&recycle_head, head, head + 1) != head)
			continue;
		/* User space writes no entry again before it has all slots back but this. */
		key = head & recycle_mask;
		entry = bpf_map_lookup_elem(&recycled, &key);
		if (entry)
			slot = *entry;
		break;
	}
	if (slot == LWPS_SHARED && fresh < nslots) {
		slot = __sync_fetch_and_add(&fresh, 1);
		if (slot >= nslots)
			slot = LWPS_SHARED;
	}
	if (slot == LWPS_SHARED) {
		__sync_fetch_and_add(&no_slot, 1);
		flaw(creator, LWPS_LACKS);
		return slot;
	}
	s = slot_of(slot);
	if (s) {
		s->tid = tid;
		s->tgid = tgid;
	}
	return slot;
}

/* A slot for a new LWP, which is told, and lives from here on. */
__noinline __u32 begin(const struct lwps_raw *birth)
{
	__u32 slot;

	if (!birth)
		return LWPS_SHARED;
	slot = take_slot(birth->tid, birth->tgid,
			 birth->event == LWPS_THREAD ? birth->other : LWPS_NONE);
	__sync_fetch_and_add(&live, 1);
	if (slot != LWPS_SHARED)
		tell_birth(birth->event, slot, birth->other, birth->extra);
	return slot;
}

/*
 * Begin to track @t, unless somebody else just does: its creator, or who attaches.  An LWP
 * that ends at the same time has ended when this returns.
 */
static __always_inline void adopt(struct task_struct *t, __u32 event, __u32 creator,
				  __u32 creator_tgid)
{
	const struct lwps_raw birth = {
		.event = event,
		.other = creator,
		.tid = visible_tid(t),
		.tgid = visible_tgid(t),
		.extra = creator_tgid,
	};
	const __u64 key = (__u64)t;
	struct lwp *l;
	__u32 slot;

	if (!birth.tid || !birth.tgid) {
		__sync_fetch_and_add(&outside, 1);
		return;
	}
	/* It fails without memory, and where somebody was interrupted while he did the same. */
	l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (unlikely(!l)) {
		if (birth.tgid == attaching) {
			__sync_fetch_and_add(&postponed, 1);
			return;
		}
		strayed = 1;
		slot = begin(&birth);
		if (bpf_map_update_elem(&strays, &key, &slot, BPF_ANY)) {
			flaw(slot, LWPS_NO_MEMORY);
			end(t, slot);
		}
		return;
	}
	if (__sync_val_compare_and_swap(&l->state, NEW, CLAIMED) != NEW)
		return;
	slot = begin(&birth);
	l->slot = slot;
	l->cpu = LWPS_NONE;
	l->switches = 0;
	l->counted = event != LWPS_ATTACH;
	l->off = start_off;
	if (event == LWPS_ATTACH)
		__sync_fetch_and_add(&attached, 1);
	if (__sync_val_compare_and_swap(&l->state, CLAIMED, LIVE) != CLAIMED)
		end(t, slot);
}

/* A task of the process that is being attached to. */
static __always_inline bool is_attaching(struct task_struct *t)
{
	return unlikely(attaching) && visible_tgid(t) == attaching;
}

/*
 * The last thing in making a task that can fail is behind it; it has not run yet.  Workers of
 * io_uring in a process are threads of it, as perf's inherited events have it, too.
 */
SEC("tp_btf/task_newtask")
int on_new(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0], *me = bpf_get_current_task_btf();
	struct lwp *creator = tracked(me);
	bool thread = ctx[1] & CLONE_THREAD;

	if (unlikely(expected) && (__u32)me->tgid == tool_tgid)
		awaited = visible_tid(t);
	if (!creator && !is_attaching(me))
		return 0;
	if (!thread && !follow_fork)
		return 0;
	adopt(t, thread ? LWPS_THREAD : LWPS_FORK, creator ? creator->slot : LWPS_NONE,
	      visible_tgid(me));
	return 0;
}

/* A stray ends that was never reclaimed. */
static __always_inline void end_stray(struct task_struct *t)
{
	const __u64 key = (__u64)t;
	__u32 *slot = bpf_map_lookup_elem(&strays, &key);

	if (!slot)
		return;
	flaw(*slot, LWPS_NO_MEMORY);
	end(t, *slot);
	bpf_map_delete_elem(&strays, &key);
}

SEC("raw_tp/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwp *l;

	if (is_attaching(t))
		/* Either it is not tracked any more, or who tracks it sees that it has ended. */
		l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	else
		l = tracked(t);
	if (unlikely(!l && strayed)) {
		end_stray(t);
		return 0;
	}
	if (!l || __sync_val_compare_and_swap(&l->state, NEW, ENDED) == NEW ||
	    __sync_val_compare_and_swap(&l->state, CLAIMED, ENDED) == CLAIMED ||
	    __sync_val_compare_and_swap(&l->state, LIVE, ENDED) != LIVE)
		return 0;
	divide(t, l, LWPS_NONE);
	end(t, l->slot);
	return 0;
}

/* The first program of the tree: what expect() waits for. */
static __always_inline struct lwp *root(struct task_struct *t)
{
	struct lwp *l;

	if (!expected || (__u32)BPF_CORE_READ(t, real_parent, tgid) != tool_tgid ||
	    __sync_val_compare_and_swap(&expected, 1, 0) != 1)
		return NULL;
	l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!l) {
		__sync_fetch_and_add(&errors, 1);
		return NULL;
	}
	l->cpu = bpf_get_smp_processor_id();
	l->switches = t->nvcsw + t->nivcsw + 1;
	l->counted = 1;
	__sync_fetch_and_add(&live, 1);
	return l;
}

SEC("raw_tp/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u32 tid, slot = LWPS_NONE, next = LWPS_NONE;
	struct lwp *l = tracked(t);

	if (l)
		slot = l->slot;
	else if (!(l = root(t)))
		return 0;
	if (follow_exec || slot == LWPS_NONE) {
		tid = visible_tid(t);
		next = take_slot(tid, tid, LWPS_NONE);
	}
	l->off = start_off;
	divide(t, l, start_off ? LWPS_NONE : next);
	l->slot = next;
	l->state = next == LWPS_NONE ? ENDED : LIVE;
	if (slot != LWPS_SHARED || next != LWPS_SHARED)
		tell_exec(t, slot, next);
	return 0;
}

/* The name is set before an exec is told, and the old one would be lost. */
SEC("raw_tp/task_rename")
int on_rename(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_slot *s;
	struct lwp *l;

	if (ctx[0] != (__u64)t)
		return 0; /* another thread's, of whom no exec follows */
	l = tracked(t);
	if (!l || l->slot == LWPS_SHARED)
		return 0;
	s = slot_of(l->slot);
	if (s)
		bpf_get_current_comm(s->comm, sizeof(s->comm));
	return 0;
}

/*
 * An LWP asks for its counts to be switched off or on, by a signal to itself that it has
 * blocked; the answer is another one.  Interrupts are off.
 */
SEC("raw_tp/signal_generate")
int on_signal(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct kernel_siginfo *info = (void *)ctx[1];
	struct lwp *l;
	__u32 op;

	/* What is no pointer stands for signals without one. */
	if (ctx[2] != (__u64)t || ctx[1] <= 2 || BPF_CORE_READ(info, si_code) != LWPS_REQUEST)
		return 0;
	l = tracked(t);
	if (!l || bpf_probe_read_kernel(&op, sizeof(op), (void *)info + SI_VALUE))
		return 0;
	if (op != LWPS_REQUEST_OFF && op != LWPS_REQUEST_ON)
		return 0;
	if (l->off != (op == LWPS_REQUEST_OFF)) {
		l->off = op == LWPS_REQUEST_OFF;
		divide(t, l, charged(l));
	}
	bpf_send_signal_thread(ctx[0]);
	return 0;
}

/* Called for each task that the tool sees: add those of the process to attach to. */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;

	if (!t || t->flags & (PF_EXITING | PF_KTHREAD) || !is_attaching(t))
		return 0;
	adopt(t, LWPS_ATTACH, LWPS_NONE, 0);
	return 0;
}
