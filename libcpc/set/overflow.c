/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflow.c - an overflow freezes the set, and its LWP gets SIGEMT.
 *
 * On overflow the kernel disables the event, and its whole group if it is the leader, and
 * sends a signal.  The kernel cannot send the SIGEMT that a program expects, with si_code
 * EMT_CPCOVF and the PC in si_addr; but a process may send itself any siginfo.  So the
 * kernel's signal is a private one of the library.  Its handler freezes what still counts and
 * queues the SIGEMT, which is delivered when the handler returns, with the interrupted
 * context.
 *
 * Buffered overflows do not freeze the set: see pcbuf.c.  The poller cannot send such a
 * siginfo to another thread either, and sends the same private signal.
 */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <ucontext.h>

struct cpci_overflow {
	bool needs_arm;	     /* restarted while off: arm it when it is switched on */
	bool frozen;	     /* from SIGEMT until cpc_set_restart() */
	bool missed_freeze;  /* an event counted on after its overflow; until it is restarted */
	uint64_t overflowed; /* while frozen: a bit for each request that overflowed */
	bool one_sw_event;   /* its only event is a software event that reports overflows */
	bool can_fast_rearm; /* same preset, no missed freeze: to restart, reset and arm it */
	bool *armed;	     /* per term: its next overflow disables it */
	struct cpci_emt emt;
	uint64_t preset[]; /* per request, for the next restart; followed by `armed` */
};

struct cpci_overflow *cpci_overflow_new(const struct cpci_plan *plan)
{
	struct cpci_overflow *o = calloc(1, sizeof(*o) + plan->nreqs * sizeof(*o->preset) +
						    plan->nterms * sizeof(*o->armed));

	if (o != NULL)
		o->armed = (bool *)&o->preset[plan->nreqs];
	return o;
}

/* ---- the signals ------------------------------------------------------------------- */

static uint64_t interrupted_pc(const void *context)
{
	const ucontext_t *uc = context;

#if defined(__x86_64__)
	return (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return uc->uc_mcontext.pc;
#elif defined(__riscv)
	return uc->uc_mcontext.__gregs[REG_PC];
#elif defined(__s390x__)
	return uc->uc_mcontext.psw.addr;
#elif defined(__powerpc64__)
	return uc->uc_mcontext.gp_regs[32]; /* PT_NIP */
#else
#error "where does this machine have the interrupted PC?"
#endif
}

/* The set of a link, if its LWP bound it to itself; or NULL. */
static inline cpc_set_t *lwp_set(const struct cpci_link *link)
{
	cpc_set_t *set = link != NULL ? link->set : NULL;

	return set != NULL && set->bound == CPCI_LWP ? set : NULL;
}

static inline cpc_set_t *own_set(void)
{
	return lwp_set(cpci_link_mine);
}

/* The armed term with file `fd`; -1: the set has none. */
static inline long find_armed(const cpc_set_t *set, int fd)
{
	long i = 0;

	do {
		if (set->fd[i] == fd && set->overflow->armed[i])
			return i;
	} while (++i < set->plan->nterms);
	return -1;
}

/* Records an overflow of the event with file `fd`.  False: it is not in this set. */
static inline bool note_overflow(cpc_set_t *set, int fd)
{
	long i = find_armed(set, fd);

	if (i == -1)
		return false;
	set->overflow->armed[i] = false;
	set->overflow->overflowed |= 1ULL << set->plan->ref[i].req;
	return true;
}

/*
 * Records what a rare signal reports: there are records in the ring buffer, or an overflow did not
 * disable its event (POLL_IN).  The latter happens if a signal handler interrupts cpc_set_restart()
 * before it arms the event, and restarts the set, too: then neither of them arms it, or both do.
 */
static __attribute__((noinline)) bool note_rare(cpc_set_t *set, const siginfo_t *info)
{
	if (info->si_code != POLL_IN) {
		if (set->pcbuf != NULL)
			cpci_pcbuf_notice(set->pcbuf);
		return false;
	}
	if (!note_overflow(set, info->si_fd))
		return false;
	set->overflow->missed_freeze = true;
	set->overflow->can_fast_rearm = false;
	return true;
}

/* Records what a private signal reports.  True: an event of this set has overflowed. */
static inline bool note(cpc_set_t *set, const siginfo_t *info)
{
	return info->si_code == POLL_HUP ? note_overflow(set, info->si_fd) : note_rare(set, info);
}

/* Has the kernel stopped the whole set, by disabling the event that overflowed? */
static inline bool has_stopped(const cpc_set_t *set, const siginfo_t *info)
{
	return info->si_code == POLL_HUP &&
	       (set->overflow->one_sw_event ||
		(set->plan->ngroups == 1 && set->fd[0] == info->si_fd &&
		 set->fd[set->plan->nterms] == -1));
}

static void on_notice(int sig, siginfo_t *info, void *context)
{
	int err = errno;
	struct cpci_link *link = cpci_link_mine;
	cpc_set_t *set;

	(void)sig;
	if (link != NULL)
		link->in_use = true;
	set = lwp_set(link);
	if (set != NULL && note(set, info) && !set->overflow->frozen) {
		if (!has_stopped(set, info))
			cpci_group_stop(set->plan, set->fd);
		set->overflow->frozen = true;
		cpci_emt_send(&set->overflow->emt, interrupted_pc(context));
	}
	if (link != NULL)
		link->in_use = false;
	errno = err;
}

/* Takes private signals that are pending because the program has blocked them. */
static void drain_notices(cpc_set_t *set)
{
	siginfo_t info;

	if (set->plan->noverflows == 0)
		return;
	while (cpci_signal_take(cpci_notice_sig(), &info))
		note(set, &info);
}

int cpci_overflow_prepare(void)
{
	/* Map the vDSO's page now: with period 1, each page fault in a handler would overflow. */
	cpci_now();
	return cpci_notice_prepare(on_notice);
}

/* ---- a set that is bound --------------------------------------------------------------- */

/*
 * Is its only event a software event that freezes it?  The kernel restarts the period of such an
 * event itself, and no other program can take its counter.
 */
static bool has_one_sw_event(const struct cpci_plan *plan)
{
	const struct perf_event_attr *attr = &cpci_plan_nth(plan, 0)->attr;

	return plan->ngroups == 1 && plan->noverflows == 1 && plan->nbuffered == 0 &&
	       cpci_plan_freezes(plan, 0) && attr->type == PERF_TYPE_SOFTWARE &&
	       !plan->group[0].hardware && !cpci_perf_is_clock(attr);
}

int cpci_overflow_notify(cpc_set_t *set)
{
	const struct cpci_plan *plan = set->plan;

	/* Discard signals of a previous set whose files had the same numbers. */
	drain_notices(set);
	set->overflow->needs_arm = set->off;
	set->overflow->one_sw_event = has_one_sw_event(plan);
	set->overflow->can_fast_rearm = set->overflow->one_sw_event;
	cpci_emt_init(&set->overflow->emt);
	for (uint_t i = 0; i < plan->nreqs; i++)
		set->overflow->preset[i] = set->start[i];
	for (uint_t i = 0; i < plan->nterms; i++) {
		if (cpci_plan_freezes(plan, i) &&
		    cpci_perf_notify(set->fd[i], cpci_self(), cpci_notice_sig()) == -1)
			return -1;
	}
	return 0;
}

/*
 * Enables a group, the leader last and only once: enabling it may overflow at once, and
 * enabling it again would let the group count while it is frozen.
 */
static int start_group(cpc_set_t *set, const struct cpci_group *group)
{
	if (set->fd[group->first] == -1)
		return 0; /* a site that its function lacks */
	for (uint_t i = group->first + group->n; i-- > group->first;) {
		bool arms = cpci_plan_freezes(set->plan, i) && !set->overflow->armed[i];

		if (arms)
			set->overflow->armed[i] = true;
		if ((arms && cpci_perf_arm(set->fd[i]) == -1) ||
		    (!arms && i == group->first && cpci_group_enable(set->fd[i]) == -1))
			return -1;
	}
	return 0;
}

int cpci_overflow_start(cpc_set_t *set)
{
	const struct cpci_plan *plan = set->plan;
	sigset_t old;
	int rc = 0;

	if (plan->noverflows == 0)
		return cpci_group_start(plan, set->fd);
	/* A signal handler that the first group causes must find all groups enabled. */
	if (plan->ngroups > 1)
		cpci_block_signals(&old);
	for (uint_t g = 0; rc == 0 && g < plan->ngroups; g++)
		rc = start_group(set, &plan->group[g]);
	if (rc == 0)
		rc = cpci_group_start_witness(plan, set->fd);
	if (plan->ngroups > 1)
		cpci_unblock_signals(&old);
	return rc;
}

/* Has the set overflowed while the private signal is blocked?  Then it stays frozen. */
static bool is_notice_pending(cpc_set_t *set)
{
	bool pending = false;
	siginfo_t info;

	if (set->plan->noverflows == 0)
		return false;
	while (!pending && cpci_signal_take(cpci_notice_sig(), &info)) {
		if (info.si_code == POLL_HUP || info.si_code == POLL_IN)
			pending = find_armed(set, info.si_fd) != -1;
		else if (set->pcbuf != NULL)
			cpci_pcbuf_notice(set->pcbuf);
	}
	if (pending)
		cpci_signal_put_back(&info);
	return pending;
}

int cpci_overflow_switch(cpc_set_t *set, bool on)
{
	if (set->overflow->frozen || (on && is_notice_pending(set)))
		return 0;
	if (!on || cpci_group_lost(set->plan, set->fd) != -1 || !set->overflow->needs_arm)
		return cpci_group_switch(set->plan, set->fd, on);
	set->overflow->needs_arm = false;
	return cpci_overflow_start(set);
}

void cpci_overflow_hold(cpc_set_t *set)
{
	set->overflow->frozen = true;
	set->overflow->can_fast_rearm = false;
	for (uint_t i = 0; i < set->plan->nreqs; i++) {
		if ((set->plan->req[i].flags & CPC_OVF_NOTIFY_EMT) != 0)
			set->start[i] = UINT64_MAX;
	}
}

/* Stops the signals of a stopped set, if the caller is its LWP. */
static void end_signals(cpc_set_t *set)
{
	siginfo_t info;

	if (set->pcbuf != NULL)
		cpci_pcbuf_stop(set->pcbuf);
	if (set->owner != cpci_self())
		return;
	drain_notices(set);
	if (!set->overflow->frozen && (set->pcbuf == NULL || !cpci_pcbuf_signalled(set->pcbuf)))
		return;
	/* Keep a SIGEMT that the program sent itself. */
	if (cpci_signal_take(SIGEMT, &info) && info.si_code != EMT_CPCOVF)
		cpci_signal_put_back(&info);
}

void cpci_set_stop(cpc_set_t *set)
{
	bool controlled = set->bound == CPCI_PCTX;
	sigset_t old;

	/* No signal handler must run for an overflow of a set that is half unbound. */
	if (set->plan->noverflows > 0)
		cpci_block_signals(&old);
	/* From now on a signal handler of this thread does not sample it. */
	set->bound = CPCI_UNBOUND;
	atomic_signal_fence(memory_order_release);
	cpci_link_hide(set->link);
	/* A child made by vfork(2) or clone(2) may keep the files open for long. */
	if (!controlled)
		cpci_group_stop(set->plan, set->fd);
	if (set->overflow != NULL)
		end_signals(set);
	if (set->plan->noverflows > 0)
		cpci_unblock_signals(&old);
}

/* ---- the public calls, safe in signal handlers -------------------------------------------- */

int cpc_request_preset(cpc_t *cpc, int index, uint64_t preset)
{
	cpc_set_t *set = own_set();

	if (set == NULL || set->cpc != cpc || index < 0 || (uint_t)index >= set->plan->nreqs)
		return cpci_errno(EINVAL);
	if (UINT64_MAX - preset < cpci_plan_least_period(set->plan, (uint_t)index) - 1) {
		errno = set->plan->req[index].own ? EINVAL : ENOTSUP;
		return -1;
	}
	set->overflow->can_fast_rearm &= preset == set->overflow->preset[index];
	set->overflow->preset[index] = preset;
	return 0;
}

/* Uprobes are tracepoints of the kernel, too. */
static bool is_tracepoint(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_TRACEPOINT || cpci_perf_is_uprobe(attr);
}

/*
 * Would the kernel continue with a period other than the new one?  After the overflow that
 * froze it, a software event starts a new period; a hardware event has counted some more, a
 * clock continues with the rest of its timer, and a tracepoint with the count that
 * start_stopped() left.
 */
static bool needs_period(const cpc_set_t *set, uint_t i)
{
	const struct perf_event_attr *attr = &cpci_plan_nth(set->plan, i)->attr;
	const struct cpci_overflow *o = set->overflow;
	uint_t req = set->plan->ref[i].req;

	return cpci_plan_overflows(set->plan, i) &&
	       (cpci_plan_buffers(set->plan, i) || !o->frozen || o->missed_freeze ||
		o->preset[req] != set->start[req] || (o->overflowed >> req & 1) == 0 ||
		!cpci_perf_is_software(attr) || cpci_perf_is_clock(attr) || is_tracepoint(attr));
}

/*
 * Since Linux 6.16 the overflow that disables an event also stops it.  Enabling does not
 * start breakpoints and tracepoints again; setting their period while they are enabled does.
 * The counts of that time are discarded.
 */
static bool is_stopped(const cpc_set_t *set, uint_t i)
{
	const struct perf_event_attr *attr = &cpci_plan_nth(set->plan, i)->attr;

	return cpci_plan_freezes(set->plan, i) && !set->overflow->armed[i] &&
	       (attr->type == PERF_TYPE_BREAKPOINT || is_tracepoint(attr));
}

static uint_t count_stopped(const cpc_set_t *set)
{
	uint_t n = 0;

	for (uint_t i = 0; i < set->plan->nterms; i++)
		n += is_stopped(set, i);
	return n;
}

static int set_periods_of_stopped(cpc_set_t *set)
{
	const struct cpci_plan *plan = set->plan;

	if (cpci_group_start(plan, set->fd) == -1)
		return -1;
	for (uint_t i = 0; i < plan->nterms; i++) {
		uint64_t preset = set->overflow->preset[plan->ref[i].req];

		if (is_stopped(set, i) && cpci_perf_change_period(set->fd[i], 0 - preset) == -1)
			return -1;
	}
	cpci_group_stop(plan, set->fd);
	drain_notices(set);
	return 0;
}

static int start_stopped(cpc_set_t *set)
{
	int rc = 0;

	/* Repeat if one that was still armed has overflowed meanwhile. */
	for (uint_t n = count_stopped(set), before = 0; rc == 0 && n != before;) {
		before = n;
		rc = set_periods_of_stopped(set);
		n = count_stopped(set);
	}
	return rc;
}

/* Resets the counts and periods of the stopped set. */
static int rewind_counts(cpc_set_t *set)
{
	const struct cpci_plan *plan = set->plan;

	for (uint_t g = 0; g < plan->ngroups; g++)
		cpci_group_reset(set->fd[plan->group[g].first]);
	for (uint_t i = 0; i < plan->nterms; i++) {
		uint64_t preset = set->overflow->preset[plan->ref[i].req];

		if (needs_period(set, i) && cpci_perf_change_period(set->fd[i], 0 - preset) == -1)
			return -1;
	}
	for (uint_t i = 0; i < plan->nreqs; i++)
		set->start[i] = set->overflow->preset[i];
	set->overflow->missed_freeze = false;
	set->overflow->can_fast_rearm = set->overflow->one_sw_event;
	return 0;
}

/* The fast path: for most overflows of most sets, this is all. */
static inline bool can_rearm(const cpc_set_t *set)
{
	const struct cpci_overflow *o = set->overflow;

	return o->can_fast_rearm && o->frozen && !set->off && cpci_epoch_peek(&set->epoch);
}

static inline int rearm(cpc_set_t *set)
{
	struct cpci_overflow *o = set->overflow;

	o->overflowed = 0;
	o->frozen = false;
	o->armed[0] = true;
	return cpci_perf_rearm(set->fd[0]);
}

static int restart_whole(cpc_set_t *set)
{
	struct cpci_overflow *o = set->overflow;

	/* This does not look for new claims of other processes; a sample does. */
	if (!cpci_epoch_peek(&set->epoch) ||
	    (!o->one_sw_event && cpci_group_lost(set->plan, set->fd) != -1))
		return cpci_errno(EAGAIN);
	if (!o->frozen)
		cpci_group_stop(set->plan, set->fd);
	if (!o->frozen || set->plan->noverflows - set->plan->nbuffered > 1)
		drain_notices(set);
	if (start_stopped(set) == -1 || rewind_counts(set) == -1)
		return -1;
	o->overflowed = 0;
	o->frozen = false;
	o->needs_arm = set->off;
	return set->off ? 0 : cpci_overflow_start(set);
}

/*
 * Blocks signals: if a handler started the set halfway, it would overflow at once.  Not inline,
 * because that would slow down rearm().
 */
static __attribute__((noinline)) int restart(cpc_set_t *set)
{
	sigset_t old;
	int rc;

	cpci_block_signals(&old);
	rc = restart_whole(set);
	cpci_unblock_signals(&old);
	return rc;
}

int cpc_set_restart(cpc_t *cpc, cpc_set_t *origin)
{
	cpc_set_t *set = own_set();

	if (set == NULL || set->origin != origin || set->cpc != cpc)
		return cpci_errno(EINVAL);
	if ((can_rearm(set) ? rearm(set) : restart(set)) == 0)
		return 0;
	if (errno == ENOTTY) /* an inherited set was taken away meanwhile */
		errno = EAGAIN;
	return -1;
}

int cpc_set_overflowed(cpc_t *cpc, const cpc_set_t *origin, uint64_t *requests)
{
	cpc_set_t *set = own_set();

	if (set == NULL || set->origin != origin || set->cpc != cpc)
		return cpci_errno(EINVAL);
	*requests = set->overflow->frozen ? set->overflow->overflowed : 0;
	return 0;
}
