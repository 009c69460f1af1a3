/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * count.bpf.c - BPF programs that count for each LWP of a tree of processes, and emit records of
 * births, execs and exits.  They never stop an LWP.
 *
 * The perf events belong to the CPUs.  At a context switch to or from a tracked LWP on_switch()
 * reads the CPU's counters.  It charges their increase since the last time to the slot of the LWP
 * that leaves.  The task storage of an LWP holds its slot.
 *
 * From Linux 7.0 on tracepoints call programs with preemption on.  While a task is preempted in a
 * program, the kernel skips that program for all other tasks on that CPU.  Therefore:
 *  - slices change only where no other task can run: at a switch, in an interrupt (refresh()), or
 *    between preempt_off() and preempt_on();
 *  - births come from sched_wakeup_new and missed exits are found in sched_switch, which run under
 *    the lock of a runqueue and are never skipped;
 *  - on_exec() is attached twice.  An exec that both miss is found at the next switch, and the
 *    counts of the old and the new program are marked.
 *
 * All programs are loaded.  Those that a run or a kernel does not need are not attached, and
 * constants make the verifier remove their code.
 *
 * Raw tracepoints load faster, and suffice for programs that look at the current task.  Only tp_btf
 * has the types for task storage of other tasks.
 */
#include "no_storage.bpf.h"
#include "owner.bpf.h"
#include "running.bpf.h"
#include "select.bpf.h"
#include "slot.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool is_leader(const struct task_struct *t)
{
	return t->pid == t->tgid;
}

#define MAX_DEPTH 64 /* generations above a task */

/*
 * Is @t a descendant of a process that is being attached to?  The tool and its children are not.
 * A process whose parent exits becomes the child of another ancestor, so one look at any moment
 * suffices.
 */
static __noinline bool is_descendant(struct task_struct *t)
{
	__u32 tgid, depth;

	for (depth = 0; depth < MAX_DEPTH; depth++) {
		tgid = BPF_CORE_READ(t, tgid);
		if (tgid == tool_tgid || tgid <= INIT_TGID)
			return false;
		t = BPF_CORE_READ(t, real_parent);
		tgid = initial ? BPF_CORE_READ(t, tgid) : visible(BPF_CORE_READ(t, group_leader));
		if (bpf_map_lookup_elem(&attach_targets, &tgid))
			return true;
	}
	return false;
}

/* The entry of the process of @t, if it is being attached to; else NULL. */
static __always_inline __u32 *attach_target(struct task_struct *t)
{
	const __u32 none = 0;
	__u32 tgid, *found;

	if (!attaches || select || !unlikely(attaching))
		return NULL;
	tgid = visible_tgid(t);
	found = bpf_map_lookup_elem(&attach_targets, &tgid);
	if (found || !descendants || !is_descendant(t))
		return found;
	if (tgid)
		bpf_map_update_elem(&attach_targets, &tgid, &none, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&attach_targets, &tgid);
	if (!found)
		__sync_fetch_and_add(tgid ? &errors : &outside, 1);
	return found;
}

/* ---- births ---- */

/*
 * The tool creates the root of the tree.  It is alive from now on, but gets a slot only at its
 * exec, when the command begins.
 */
static __always_inline void root_born(struct task_struct *t)
{
	struct lwp *l = storage_of(t);

	root_pending = 0;
	if (!l) {
		__sync_fetch_and_add(&errors, 1);
		return;
	}
	init_lwp(l, t, LWPS_NONE, true);
	__sync_fetch_and_add(&live, 1);
	l->state = LIVE;
}

/* @me creates @t, which has not run yet. */
static __always_inline void born(struct task_struct *me, struct task_struct *t)
{
	const bool thread = t->tgid == me->tgid;
	struct lwp *l, *creator = tracked(me);
	__u32 slot, by = creator ? creator->slot : no_storage_slot(me);
	__u32 *found = attach_target(me), event;
	__u64 ids;

	if (unlikely(root_pending) && (__u32)me->tgid == tool_tgid && !thread) {
		root_born(t);
		return;
	}
	const bool tracked_creator = creator || by != LWPS_NONE;

	/* With `select`, track new threads of a tracked process, and LWPs that are selected. */
	if (!(select ? (tracked_creator && thread) || is_selected(t) : tracked_creator || found))
		return;
	if (!thread && !follow_fork) {
		__sync_fetch_and_add(&children, 1);
		return;
	}
	ids = visible_ids(t);
	if (!initial && (!(__u32)ids || !(ids >> 32))) {
		__sync_fetch_and_add(&outside, 1);
		return;
	}
	l = storage_of(t);
	/* If @t is not NEW, the iterator has just found it, and tracks it. */
	if (l && __sync_val_compare_and_swap(&l->state, NEW, CLAIMED) != NEW)
		return;
	if (found && thread)
		*found = 1;
	event = thread ? LWPS_THREAD : LWPS_FORK;
	if (select && !tracked_creator)
		event = LWPS_ATTACH; /* its creator is not tracked, and has no rows */
	slot = begin_slot(event, ids, by,
			  event == LWPS_ATTACH ? is_elsewhere(t) : visible_tgid(me));
	if (l) {
		init_lwp(l, t, slot, true);
		l->state = LIVE;
	} else {
		add_no_storage(t, slot);
	}
}

/*
 * The io_uring workers of a process count as its threads, as with inherited perf events.  Before
 * Linux 6.4 task storage cannot be created under the lock of a runqueue, and births come from
 * task_newtask instead.
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *t)
{
	if (births_at_wakeup)
		born(bpf_get_current_task_btf(), t);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *t)
{
	if (!births_at_wakeup)
		born(bpf_get_current_task_btf(), t);
	return 0;
}

/* ---- execs ---- */

/* How an exec was noticed. */
enum noticed {
	FIRST, /* by on_exec() */
	AGAIN, /* by on_exec_again(), usually after on_exec() */
	LATE,  /* at a switch afterwards */
};

/* The current task @t has executed another program: its slot ends, and another begins. */
static __always_inline void executed(struct task_struct *t, enum noticed noticed)
{
	__u32 tid, slot, before, next = LWPS_NONE;
	struct lwp *l = tracked(t);

	if (noticed != FIRST && (!l || l->exec_id == t->self_exec_id))
		return;
	slot = l ? l->slot : drop_no_storage(t);
	if (!l && slot == LWPS_NONE) {
		l = enter_by_exec(t);
		if (!l)
			return;
	}
	if (follow_exec || slot == LWPS_NONE) {
		tid = visible_tid(t);
		next = alloc_slot(tid, tid, LWPS_NONE);
	}
	if (l) {
		before = charged(l);
		l->off = start_off;
		l->slot = next;
		l->exec_id = t->self_exec_id;
		l->state = next == LWPS_NONE ? ENDED : LIVE;
		/* refresh() may interrupt from here on: all fields must be set. */
		barrier();
		l->switches += noticed == LATE; /* the kernel has counted this switch already */
		split_slice(l, before, next == LWPS_NONE ? LWPS_NONE : charged(l));
		l->switches -= noticed == LATE;
	}
	if (noticed == LATE) {
		__sync_fetch_and_add(&late_execs, 1);
		flaw(slot, LWPS_LATE_EXEC);
		flaw(next, LWPS_LATE_EXEC);
	}
	store_last_owners(t, slot);
	if (slot != LWPS_SHARED || next != LWPS_SHARED)
		emit_exec(slot, next);
	if (!l && next != LWPS_NONE)
		add_no_storage(t, next);
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec)
{
	preempt_off();
	executed(bpf_get_current_task_btf(), FIRST);
	preempt_on();
	return 0;
}

/* Do the work of on_exec() if the kernel skipped it, because another task is preempted in it. */
SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec_again)
{
	if (!preemptible)
		return 0;
	preempt_off();
	executed(bpf_get_current_task_btf(), AGAIN);
	preempt_on();
	return 0;
}

/*
 * The slice of @prev ends.  If its execve(2) has finished but neither on_exec() nor
 * on_exec_again() ran for it, do their work now.
 */
static __always_inline void find_missed_exec(struct lwps_cpu *c, struct task_struct *prev)
{
	if (!preemptible || !c->tracked || c->exec_id == prev->self_exec_id)
		return;
	if (!BPF_CORE_READ_BITFIELD(prev, in_execve))
		executed(prev, LATE);
}

/*
 * Keep the name that an exec replaces: the kernel renames the task before it reports the exec.  A
 * task can also rename other threads of its process; that is ignored.
 */
SEC("raw_tp/task_rename")
int BPF_PROG(on_rename, struct task_struct *renamed)
{
	struct lwps_slot *s;
	struct lwp *l;

	if (!names || (__u64)renamed != bpf_get_current_task())
		return 0;
	l = tracked(bpf_get_current_task_btf());
	if (!l || l->slot == LWPS_SHARED || l->slot == LWPS_NONE)
		return 0;
	s = slot_of(l->slot);
	if (s)
		bpf_get_current_comm(s->comm, sizeof(s->comm));
	return 0;
}

/* ---- exits ---- */

/*
 * @t exits.  Returns its slot, which ends here; LWPS_NONE: it has no slot, or has ended before.
 * @alive: it was tracked and alive.
 */
static __always_inline __u32 end_lwp(struct task_struct *t, struct lwp **lwp, bool *alive)
{
	__u32 slot = drop_no_storage(t);
	struct lwp *l;

	*lwp = NULL;
	*alive = slot != LWPS_NONE;
	if (*alive)
		return slot;
	l = bpf_task_storage_get(&lwps, t, 0, 0);
	if (!l)
		return LWPS_NONE;
	/* Publish ENDED: an attach that has CLAIMED it meanwhile emits its exit. */
	if (__sync_val_compare_and_swap(&l->state, NEW, ENDED) == NEW ||
	    __sync_val_compare_and_swap(&l->state, CLAIMED, ENDED) == CLAIMED ||
	    __sync_val_compare_and_swap(&l->state, LIVE, ENDED) != LIVE)
		return LWPS_NONE;
	*lwp = l;
	*alive = true;
	return l->slot;
}

/* Emit the record of an exit, with the LWP's last name. */
static __always_inline void emit_exit(struct task_struct *t, __u32 slot)
{
	struct lwps_slot *s;

	store_last_owners(t, slot);
	if (names && slot != LWPS_NONE) {
		s = slot_of(slot);
		if (s)
			bpf_get_current_comm(s->comm, sizeof(s->comm));
	}
	emit_record(LWPS_EXIT, slot, LWPS_NONE, wait_status(t));
	lwp_gone();
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_exit)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwp *l;
	__u32 slot;
	bool alive;

	if (is_leader(t) && attach_target(t))
		leader_exited = 1;
	preempt_off();
	slot = end_lwp(t, &l, &alive);
	if (l)
		split_slice(l, charged(l), LWPS_NONE);
	if (alive)
		emit_exit(t, slot);
	preempt_on();
	return 0;
}

/* This is the last switch of @prev: if on_exit() was skipped, do its work now. */
static __always_inline void find_missed_exit(struct task_struct *prev)
{
	struct lwp *l;
	__u32 slot;
	bool alive;

	slot = end_lwp(prev, &l, &alive);
	if (!alive)
		return;
	__sync_fetch_and_add(&late_exits, 1);
	emit_exit(prev, slot);
}

/* ---- switches ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	const bool dead = prev->__state & TASK_DEAD;
	struct lwps_cpu *c = this_cpu();
	struct lwp *before, *after;
	struct lwps_slice *s;

	if (unlikely(!c)) {
		before = tracked(prev);
		after = tracked(next);
		lose_cpu(before ? charged(before) : LWPS_NONE);
		lose_cpu(after ? charged(after) : LWPS_NONE);
		goto out;
	}
	if (unlikely(no_storage_seen))
		retry_storage(next);
	if (unlikely(prev->tgid == INIT_TGID))
		saw_init_switch = 1;
	after = tracked(next);
	if (select && !after)
		after = enter(next);
	s = &c->slice;
	if (unlikely(s->task != (__u64)prev)) {
		before = tracked(prev);
		/* No switch is lost if @prev was attached to while it ran: see split_slice(). */
		lose_switch(s, before && before->counted ? charged(before) : LWPS_NONE);
	} else {
		find_missed_exec(c, prev);
		before = counts_any_wait() && c->tracked ? tracked(prev) : NULL;
		if (before)
			count_waits(s, before, prev);
	}
	if (s->slot != LWPS_NONE || after) {
		/* Do not count the last switch of a task, as perf(1) and getrusage(2) do not. */
		if (!dead)
			count_switch(s, perf_cgroup_of(prev), perf_cgroup_of(next));
		charge_slice(s);
	}
	switch_in(c, next, after);
out:
	if (unlikely(dead))
		find_missed_exit(prev);
	return 0;
}

static __always_inline void make_up(struct task_struct *t)
{
	struct lwps_cpu *c = this_cpu();
	struct lwp *l = tracked(t);

	if (!c)
		return;
	if (l || c->slice.slot != LWPS_NONE) {
		__sync_fetch_and_add(&repaired, 1);
		count_switch(&c->slice, c->cgroup, perf_cgroup_of(t));
		charge_slice(&c->slice);
	}
	switch_in(c, t, l);
}

/* ---- requests ---- */

/*
 * An LWP asks to switch its counts off or on, by a signal to itself that it has blocked.  The
 * answer is a second such signal.
 */
SEC("raw_tp/signal_generate")
int BPF_PROG(on_signal, int sig, struct kernel_siginfo *info, struct task_struct *target)
{
	__u32 op, before;
	struct lwp *l;

	/* The kernel's own signals have a small number instead of a pointer. */
	if ((__u64)target != bpf_get_current_task() || (__u64)info <= 2)
		return 0;
	if (BPF_CORE_READ(info, si_code) != LWPS_REQUEST)
		return 0;
	l = tracked(bpf_get_current_task_btf());
	if (!l || bpf_probe_read_kernel(&op, sizeof(op), (void *)info + SI_VALUE))
		return 0;
	if (op != LWPS_REQUEST_OFF && op != LWPS_REQUEST_ON)
		return 0;
	preempt_off();
	if (l->off != (op == LWPS_REQUEST_OFF)) {
		before = charged(l);
		l->off = op == LWPS_REQUEST_OFF;
		split_slice(l, before, charged(l));
	}
	preempt_on();
	bpf_send_signal_thread(sig);
	return 0;
}

/* ---- calls from user space ---- */

/* The current task is the tool: learn its ids, its PID namespace and its root directory. */
static __always_inline void identify(struct task_struct *t)
{
	struct pid *pid = BPF_CORE_READ(t, thread_pid);
	struct upid *u;

	if (select == LWPS_SELECT_CGROUP)
		find_root(t);
	if (functions)
		note_root(t);
	tool_tgid = t->tgid;
	level = BPF_CORE_READ(pid, level);
	u = upid_of(pid);
	namespace = (__u64)BPF_CORE_READ(u, ns);
}

/*
 * Bring the counts of the LWP that runs here up to date.  If it was attached to while it runs,
 * begin to count it.
 */
static __always_inline void refresh(struct lwps_cpu *c, struct task_struct *t)
{
	struct lwps_slice *s = &c->slice;
	struct lwp *l;

	if (s->busy || (s->slot != LWPS_NONE && s->task != (__u64)t))
		return;
	if (s->slot != LWPS_NONE && !counts_any_wait()) {
		charge_slice(s);
		return;
	}
	l = tracked(t);
	if (l)
		count_waits(s, l, t);
	if (l || s->slot != LWPS_NONE)
		charge_slice(s);
	if (!l || s->slot != LWPS_NONE)
		return;
	l->counted = 0;
	switch_in(c, t, l);
}

/* Switch this CPU to the columns of another turn, or to columns with other events. */
static __always_inline void begin_turn(struct lwps_slice *s)
{
	const __u32 slot = s->slot;

	s->turn = turn;
	s->slot = LWPS_NONE; /* charge their counts up to now to no LWP */
	charge_slice(s);
	s->slot = slot;
}

/*
 * Never attached: user space runs it on a CPU of its choice.  Returns 1 if the CPU is busy and
 * LWPS_TURN must be tried again.
 */
SEC("raw_tp/lwps_call")
int BPF_PROG(on_call, __u64 what)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();

	if (what == LWPS_IDENTIFY)
		identify(t);
	else if (what == LWPS_FIND)
		find_events();
	else if (c)
		refresh(c, t);
	if (what != LWPS_TURN || !c)
		return 0;
	if (c->slice.busy)
		return 1;
	begin_turn(&c->slice);
	return 0;
}

/*
 * Has @t been started?  If so, its creator no longer adds it, and this CPU sees all that the
 * creator has stored.
 */
static __always_inline bool was_started(struct task_struct *t)
{
	const __u32 state = *(volatile __u32 *)&t->__state;
	__u64 then = __sync_fetch_and_add(&postponed, 0);

	barrier_var(then); /* uses the value: only an atomic that returns one is a barrier */
	return state != TASK_NEW;
}

#define MAX_NESTED 64 /* MAX_URETPROBE_DEPTH of the kernel */

/*
 * Mark the slot of the current task @t if it has as many replaced return addresses as the kernel
 * allows.  It drops further ones.
 */
static __always_inline void check_nested(const struct lwps_cpu *c, struct task_struct *t)
{
	const struct lwps_slice *s = &c->slice;

	if (bpf_core_field_exists(t->utask) && s->task == (__u64)t && s->slot != LWPS_NONE &&
	    BPF_CORE_READ(t, utask, depth) >= MAX_NESTED)
		flaw(s->slot, LWPS_TOO_DEEP);
}

/*
 * Count a call or return of the function of a column, the cookie.  The current task stays on this
 * CPU, but can be preempted, and another task may call the function meanwhile.
 */
SEC("kprobe")
int on_function(void *ctx)
{
	__u64 column = bpf_get_attach_cookie(ctx);
	struct lwps_cpu *c = this_cpu();

	if (!c || column >= LWPS_MAX_COLUMNS)
		return 0;
	__sync_fetch_and_add(&c->slice.start[column].calls, 1);
	/* The calls that are nested in this one have ended.  Were there more than are seen? */
	if (returns[column])
		check_nested(c, bpf_get_current_task_btf());
	return 0;
}

/* Where the probed task continues. */
static __always_inline __u64 probed_ip(void *ctx)
{
	const struct pt_regs___x86 *x86 = ctx;
	const struct pt_regs___arm64 *arm64 = ctx;

	if (bpf_core_field_exists(x86->ip))
		return BPF_CORE_READ(x86, ip);
	return bpf_core_field_exists(arm64->pc) ? BPF_CORE_READ(arm64, pc) : 0;
}

/*
 * A session, since Linux 6.13: called at a call, it decides whether the return address is replaced;
 * if so, called at the return.  Only tracked tasks get another return address: it kills programs
 * that exchange stacks.  `skeleton` sets the type of the program, which libbpf does not know.
 */
SEC("kprobe.multi")
int on_session(void *ctx)
{
	const int skip_return = 1;
	struct task_struct *t = bpf_get_current_task_btf();
	struct lwps_cpu *c = this_cpu();
	struct lwp *l;
	__u64 column;

	if (!sessions || !c)
		return skip_return;
	l = c->slice.task == (__u64)t ? tracked(t) : NULL;
	if (!l)
		return skip_return;
	if (probed_ip(ctx) == bpf_get_func_ip(ctx)) {
		check_nested(c, t);
		l->pending++;
		return 0;
	}
	/* A child returns from the call that created it, but has not called the function. */
	if (l->pending == 0)
		return 0;
	l->pending--;
	column = bpf_get_attach_cookie(ctx);
	if (column < LWPS_MAX_COLUMNS)
		__sync_fetch_and_add(&c->slice.start[column].calls, 1);
	return 0;
}

/*
 * Called for each task that the tool sees, in the order of ids: attach to it if it is a target or
 * selected.  The iterator can be preempted.
 */
SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	__u32 slot, *found, any;
	struct lwp *l;
	__u64 ids;
	bool started;

	if (!t || t->flags & PF_KTHREAD)
		return 0;
	if (owners && noting) {
		l = tracked(t);
		store_owners(t, l ? l->slot : no_storage_slot(t), &walked);
		return 0;
	}
	if (!attaches)
		return 0;
	found = select ? (is_selected(t) ? &any : NULL) : attach_target(t);
	if (!found)
		return 0;
	if (t->flags & PF_EXITING) {
		if (is_leader(t))
			leader_exited = 1;
		return 0;
	}
	/* Check this before what the creator stores: see was_started(). */
	started = was_started(t);
	if (no_storage_slot(t) != LWPS_NONE || tracked(t)) {
		*found = 1;
		return 0;
	}
	ids = visible_ids(t);
	l = started ? storage_of(t) : NULL;
	if (!l) {
		__sync_fetch_and_add(&postponed, 1);
		return 0;
	}
	/* If @t is not NEW, its creator tracks it, or it has exited. */
	if (__sync_val_compare_and_swap(&l->state, NEW, CLAIMED) != NEW)
		return 0;
	*found = 1;
	__sync_fetch_and_add(&discovered, 1);
	slot = begin_slot(LWPS_ATTACH, ids, LWPS_NONE, is_elsewhere(t));
	init_lwp(l, t, slot, false);
	/* on_exit() may have run before @t had task storage. */
	if (t->flags & PF_EXITING)
		l->state = ENDED;
	/* If on_exit() ran meanwhile, it left its work to us. */
	if (__sync_val_compare_and_swap(&l->state, CLAIMED, LIVE) != CLAIMED) {
		store_owners(t, slot, &walked);
		emit_record(LWPS_EXIT, slot, LWPS_NONE, wait_status(t));
		lwp_gone();
	}
	return 0;
}
