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
 * on_current(), which takes longest to load, comes first: a thread loads it while the others are
 * loaded (loader.c).
 *
 * Tracepoints run with preemption off, but with interrupts on outside of the scheduler: that
 * is where refresh() may come in between.
 */
#include "record.bpf.h"
#include "slice.bpf.h"
#include "stray.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- CPUs ---- */

/* The tool itself calls: who is it? */
static __always_inline void identify(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	struct upid *u;

	tool_tgid = t->tgid;
	level = BPF_CORE_READ(pid, level);
	u = number(pid);
	namespace = (__u64)BPF_CORE_READ(u, ns);
}

/* The LWP that runs here is brought up to date, or begun if it was attached to while it ran. */
static __always_inline void refresh(struct lwps_cpu *c, struct task_struct *t)
{
	struct lwp *l;

	if (c->busy)
		return;
	if (c->slot != LWPS_NONE) {
		if (c->task == (__u64)t)
			settle(c, c->slot, 0);
		return;
	}
	l = tracked(t);
	if (!l)
		return;
	settle(c, LWPS_NONE, 0);
	l->counted = 0;
	arrive(c, t, l);
}

/* @t goes on here after a switch that was not told. */
static __always_inline void repair(struct lwps_cpu *c, struct task_struct *t)
{
	struct lwp *l = tracked(t);

	if (l || c->slot != LWPS_NONE) {
		__sync_fetch_and_add(&repaired, 1);
		settle(c, c->slot, 1);
	}
	arrive(c, t, l);
}

/* ---- life ---- */

/*
 * A slot for an LWP; the shared one when there is no other.  @creator is the slot of who makes it
 * in the same process, if anybody does.
 */
__noinline __u32 take_slot(__u32 tid, __u32 tgid, __u32 creator)
{
	__u32 slot = LWPS_SHARED, head, key;
	struct lwps_slot *s;
	__u64 *entry;

	/*
	 * Those used before first, which are in the caches.  There is one for each CPU that may
	 * be here, so that none takes what was not put there; and if that went wrong, it is left.
	 */
	if ((__s32)(*(volatile __u32 *)&recycle_tail - recycle_head) >= (__s32)ncpus) {
		head = __sync_fetch_and_add(&recycle_head, 1);
		/* User space writes no entry again before it has all slots back but this. */
		key = head & recycle_mask;
		entry = bpf_map_lookup_elem(&recycled, &key);
		if (entry && (__s32)(*(volatile __u32 *)&recycle_tail - head) > 0)
			slot = *entry;
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
static __always_inline __u32 begin(__u32 event, __u64 ids, __u32 creator, __u32 creator_tgid)
{
	const __u32 tid = ids, tgid = ids >> 32;
	const __u32 slot = take_slot(tid, tgid, event == LWPS_THREAD ? creator : LWPS_NONE);

	__sync_fetch_and_add(&live, 1);
	tell(event, slot, creator, creator_tgid);
	return slot;
}

/* Both ids of @t; one is 0 if it is not seen in the tool's PID namespace. */
static __always_inline __u64 visible_ids(struct task_struct *t)
{
	return visible_tid(t) | (__u64)visible_tgid(t) << 32;
}

static __always_inline void begin_in(struct lwp *l, __u32 slot, bool counted)
{
	l->slot = slot;
	l->cpu = LWPS_NONE;
	l->switches = 0;
	l->counted = counted;
	l->off = start_off;
}

static __always_inline bool is_leader(const struct task_struct *t)
{
	return t->pid == t->tgid;
}

/* If @t is of a process that is being attached to: was an LWP of it found?  Or NULL. */
static __always_inline __u32 *joining_of(struct task_struct *t)
{
	__u32 tgid;

	if (!attaches || !unlikely(attaching))
		return NULL;
	tgid = visible_tgid(t);
	return bpf_map_lookup_elem(&joining, &tgid);
}

static __always_inline void on_exit(struct task_struct *t)
{
	const bool joining = joining_of(t);
	__u32 slot = drop_stray(t);
	struct lwps_slot *s;
	struct lwp *l;

	if (joining && is_leader(t))
		leaderless = 1;
	if (slot != LWPS_NONE)
		l = NULL;
	else if (joining)
		/* Either it is not tracked any more, or who tracks it sees that it has ended. */
		l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	else
		l = tracked(t);
	if (l) {
		if (__sync_val_compare_and_swap(&l->state, NEW, ENDED) == NEW ||
		    __sync_val_compare_and_swap(&l->state, CLAIMED, ENDED) == CLAIMED ||
		    __sync_val_compare_and_swap(&l->state, LIVE, ENDED) != LIVE)
			return;
		divide(l, charged(l), LWPS_NONE);
		slot = l->slot;
	}
	if (slot == LWPS_NONE)
		return;
	if (names) {
		s = slot_of(slot);
		if (s)
			bpf_get_current_comm(s->comm, sizeof(s->comm));
	}
	tell(LWPS_EXIT, slot, LWPS_NONE, wait_status(t));
	leave();
}

/* The first program of the tree.  The tool may have had other children before lwps_expect(). */
static __always_inline struct lwp *root(struct task_struct *t)
{
	struct lwp *l;

	/* Those outside of our PID namespace have no id, as none is awaited yet. */
	if (!expected || !awaited || visible_tid(t) != awaited)
		return NULL;
	l = bpf_task_storage_get(&lwps, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!l) {
		__sync_fetch_and_add(&errors, 1);
		expected = 0;
		return NULL;
	}
	l->cpu = bpf_get_smp_processor_id();
	l->switches = t->nvcsw + t->nivcsw + 1;
	l->counted = 1;
	l->slot = LWPS_NONE;
	__sync_fetch_and_add(&live, 1);
	barrier(); /* it is expected or lives, at any time */
	expected = 0;
	return l;
}

static __always_inline void on_exec(struct task_struct *t)
{
	__u32 tid, slot, before, waited, next = LWPS_NONE;
	struct lwp *l = tracked(t);
	struct lwps_cpu *c;

	if (!l)
		l = root(t);
	slot = l ? l->slot : drop_stray(t);
	if (!l && slot == LWPS_NONE)
		return;
	if (follow_exec || slot == LWPS_NONE) {
		tid = visible_tid(t);
		next = take_slot(tid, tid, LWPS_NONE);
	}
	if (l) {
		/* All of it first: refresh() may come in between, and begin it anew. */
		before = charged(l);
		l->off = start_off;
		l->slot = next;
		barrier();
		l->state = next == LWPS_NONE ? ENDED : LIVE;
		barrier();
		waited = waiting;
		divide(l, before, start_off || waited ? LWPS_NONE : next);
		c = this_cpu();
		if (unlikely(waited) && c)
			refresh(c, t); /* if lwps_begin() came in between */
	}
	if (slot != LWPS_SHARED || next != LWPS_SHARED)
		tell_exec(slot, next);
	if (!l && next != LWPS_NONE)
		make_stray(t, next);
}

/* The name is set before an exec is told, and the old one would be lost. */
static __always_inline void on_rename(struct task_struct *t)
{
	struct lwp *l = tracked(t);
	struct lwps_slot *s;

	if (!l || l->slot == LWPS_SHARED)
		return;
	s = slot_of(l->slot);
	if (s)
		bpf_get_current_comm(s->comm, sizeof(s->comm));
}

/*
 * Is it the new name, and not the process id before an exec?  As memory: sched_process_exit has
 * no second argument.
 */
static __always_inline bool is_name(__u64 *ctx)
{
	__u64 arg;

	return !bpf_probe_read_kernel(&arg, sizeof(arg), ctx + 1) && arg >> 32;
}

/*
 * An LWP asks for its counts to be switched off or on, by a signal to itself that it has
 * blocked; the answer is another one.  Interrupts are off.  Of the tracepoint's arguments, the
 * second and the third are read as memory: others that this program is attached to have one.
 */
static __always_inline void on_signal(struct task_struct *t, __u64 *ctx)
{
	struct kernel_siginfo *info;
	struct lwp *l;
	__u64 arg[2];
	__u32 op, before;

	/* What is no pointer stands for signals without one. */
	if (bpf_probe_read_kernel(arg, sizeof(arg), ctx + 1) || arg[1] != (__u64)t || arg[0] <= 2)
		return;
	info = (void *)arg[0];
	if (BPF_CORE_READ(info, si_code) != LWPS_REQUEST)
		return;
	l = tracked(t);
	if (!l || bpf_probe_read_kernel(&op, sizeof(op), (void *)info + SI_VALUE))
		return;
	if (op != LWPS_REQUEST_OFF && op != LWPS_REQUEST_ON)
		return;
	if (l->off != (op == LWPS_REQUEST_OFF)) {
		before = charged(l);
		l->off = op == LWPS_REQUEST_OFF;
		divide(l, before, charged(l));
	}
	bpf_send_signal_thread(ctx[0]);
}

/*
 * What the current task does: one program, as each more takes its time to load.  The first
 * argument tells the tracepoints apart:
 *
 *	sched_exit_tp		0 or 1		it goes on after a switch (Linux 6.16); of some
 *						that sched_switch does not tell, which is repaired
 *	signal_generate		the signal	SIGHUP is taken for the one above, and does no harm
 *	sched_process_exec	the task
 *	sched_process_exit	the task, which is exiting
 *	task_rename		the task; or another one, of whom no exec follows
 *	none			LWPS_REFRESH or LWPS_IDENTIFY, from user space
 */
SEC("raw_tp/sched_process_exec")
int on_current(__u64 *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	const __u64 first = ctx[0];
	struct lwps_cpu *c;

	if (first == (__u64)t) {
		if (t->flags & PF_EXITING)
			on_exit(t);
		else if (names && is_name(ctx))
			on_rename(t);
		else
			on_exec(t);
		return 0;
	}
	if (first > 1 && first < LWPS_REFRESH) {
		on_signal(t, ctx);
		return 0;
	}
	if (!initial && first == LWPS_IDENTIFY) {
		identify(t);
		return 0;
	}
	if (first > LWPS_IDENTIFY)
		return 0;
	c = this_cpu();
	if (!c)
		return 0;
	if (first == LWPS_REFRESH)
		refresh(c, t);
	else if (c->task != (__u64)t)
		repair(c, t);
	return 0;
}

/* ---- what has to look at other tasks ---- */

/* @me makes @t, which has not run yet: so who attaches leaves it to us. */
static __always_inline void on_birth(struct task_struct *me, struct task_struct *t, bool thread)
{
	struct lwp *l, *creator = tracked(me);
	__u32 slot, by = creator ? creator->slot : stray_slot(me);
	__u32 *found = joining_of(me);
	__u64 ids;

	if (!creator && by == LWPS_NONE && !found)
		return;
	if (!thread && !follow_fork)
		return;
	ids = visible_ids(t);
	if (!initial && (!(__u32)ids || !(ids >> 32))) {
		__sync_fetch_and_add(&outside, 1);
		return;
	}
	l = lwp_of(t);
	if (found && thread)
		*found = 1;
	slot = begin(thread ? LWPS_THREAD : LWPS_FORK, ids, by, visible_tgid(me));
	if (l) {
		begin_in(l, slot, true);
		l->state = LIVE;
	} else {
		make_stray(t, slot);
	}
}

/*
 * The last thing in making a task that can fail is behind it; it has not run yet.  Workers of
 * io_uring in a process are threads of it, as perf's inherited events have it, too.
 */
SEC("tp_btf/task_newtask")
int on_new(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0], *me = bpf_get_current_task_btf();
	const bool thread = ctx[1] & CLONE_THREAD;

	if (unlikely(expected) && (__u32)me->tgid == tool_tgid && !thread)
		awaited = visible_tid(t);
	on_birth(me, t, thread);
	return 0;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct lwps_cpu *c = this_cpu();
	struct lwp *before, *after;

	if (!c) {
		before = tracked(prev);
		after = tracked(next);
		lose_cpu(before ? charged(before) : LWPS_NONE);
		lose_cpu(after ? charged(after) : LWPS_NONE);
		return 0;
	}
	if (unlikely(strayed))
		reclaim(next);
	if (unlikely(prev->tgid == INIT_TGID))
		init_told = 1;
	after = tracked(next);
	if (unlikely(c->task != (__u64)prev)) {
		before = tracked(prev);
		/* Unless it was attached to in this moment. */
		lose_switch(c, before && before->counted ? charged(before) : LWPS_NONE);
	}
	if (c->slot == LWPS_NONE && !after) {
		c->task = (__u64)next;
		return 0;
	}
	c->flaws |= c->busy * LWPS_PREEMPTED;
	settle(c, c->slot, 1);
	arrive(c, next, after);
	return 0;
}

/* Was @t started?  What was done before that is seen by what follows. */
static __always_inline bool was_started(struct task_struct *t)
{
	const __u32 state = *(volatile __u32 *)&t->__state;
	__u64 then = __sync_fetch_and_add(&postponed, 0);

	barrier_var(then); /* the instruction that returns it is a barrier */
	return state != TASK_NEW;
}

/* Called for each task that the tool sees: add those of the processes to attach to. */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	__u32 slot, *found;
	struct lwp *l;
	__u64 ids;
	bool started;

	if (!attaches || !t || t->flags & PF_KTHREAD)
		return 0;
	found = joining_of(t);
	if (!found)
		return 0;
	if (t->flags & PF_EXITING) {
		if (is_leader(t))
			leaderless = 1;
		return 0;
	}
	/* Who makes it may add it until then, and has done so or will not: in this order. */
	started = was_started(t);
	if (stray_slot(t) != LWPS_NONE || tracked(t)) {
		*found = 1;
		return 0;
	}
	ids = visible_ids(t);
	l = started ? lwp_of(t) : NULL;
	if (!l) {
		__sync_fetch_and_add(&postponed, 1);
		return 0;
	}
	/* Else it has ended by now. */
	if (__sync_val_compare_and_swap(&l->state, NEW, CLAIMED) != NEW)
		return 0;
	*found = 1;
	slot = begin(LWPS_ATTACH, ids, LWPS_NONE, 0);
	begin_in(l, slot, false);
	/*
	 * It may end at the same time, which is left to us; or have ended, without storage: of two
	 * that make the first one of a task at the same moment, one gets none.
	 */
	if (t->flags & PF_EXITING)
		l->state = ENDED;
	if (__sync_val_compare_and_swap(&l->state, CLAIMED, LIVE) != CLAIMED) {
		tell(LWPS_EXIT, slot, LWPS_NONE, wait_status(t));
		leave();
	}
	return 0;
}
