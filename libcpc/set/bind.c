/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* bind.c - binds sets: checks them, opens their counters, starts them. */
#include "counter.h"
#include "set.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- refusals, before anything is opened -------------------------------------------------- */

/* The request of the first term for which `is` is true; -1: none. */
static int find_term(const cpc_set_t *set, bool (*is)(const struct perf_event_attr *attr))
{
	for (uint_t i = 0; i < set->plan->nterms; i++) {
		if (is(&cpci_plan_nth(set->plan, i)->attr))
			return (int)set->plan->ref[i].req;
	}
	return -1;
}

/* Refuses breakpoints in another, traced process on CPUs where ptrace(2) disturbs them. */
static int check_traced(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	int req = find_term(set, cpci_perf_is_stepped_over);

	if (req == -1)
		return 0;
	return cpci_failf(cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s' of a traced process: on this kind of CPU a breakpoint "
			  "counts no more after a signal that meets it; uprobe/func=NAME/ counts "
			  "calls of a function",
			  set->plan->req[req].name);
}

/* Refuses a breakpoint and a uprobe together: on one instruction they would kill the program. */
static int check_probes(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	int breakpoint = find_term(set, cpci_perf_is_stepped_over);
	int uprobe = breakpoint != -1 ? find_term(set, cpci_perf_is_uprobe) : -1;

	if (uprobe == -1)
		return 0;
	return cpci_failf(
		cpc, fn, ENOTSUP, CPC_CONFLICTING_REQS,
		"cannot count '%s' together with '%s': on this kind of CPU a breakpoint and "
		"a uprobe of one function kill the program; count them in sets of their own",
		set->plan->req[breakpoint].name, set->plan->req[uprobe].name);
}

/* The checks of every bind. */
static int check(cpc_t *cpc, const char *fn, const cpc_set_t *set, uint_t flags, uint_t known)
{
	struct cpci_term_ref bad;
	const char *why;

	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	if (set->plan->nreqs == 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set has no requests");
	if ((flags & ~known) != 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "unknown flags 0x%x", flags & ~known);
	for (uint_t i = 0; i < set->plan->nreqs; i++) {
		if ((set->plan->req[i].flags & CPC_COUNT_HV) != 0)
			return cpci_failf(cpc, fn, EACCES, CPC_HV_NO_ACCESS,
					  "cannot count '%s' in the mode of the hypervisor: the "
					  "kernel gives no access to it",
					  set->plan->req[i].name);
	}
	why = cpci_plan_check_topdown(set->plan, &bad);
	if (why != NULL)
		return cpci_failf(cpc, fn, EINVAL, CPC_CONFLICTING_REQS, "cannot count '%s': %s",
				  set->plan->req[bad.req].name, why);
	return check_probes(cpc, fn, set);
}

/* Overflows can only be reported to the LWP that is counted. */
static int check_overflows(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	if (set->plan->noverflows == 0)
		return 0;
	return cpci_failf(cpc, fn, EINVAL, CPC_REQ_INVALID_FLAGS,
			  "a set with CPC_OVF_NOTIFY_EMT is for the calling LWP alone");
}

static int check_period(cpc_t *cpc, const char *fn, const cpc_set_t *set, uint_t i)
{
	const struct cpci_req *req = &set->plan->req[i];
	uint64_t least = cpci_plan_least_period(set->plan, i);

	if (UINT64_MAX - set->preset[i] >= least - 1)
		return 0;
	if (!req->own)
		return cpci_failf(cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
				  "cannot report overflows of '%s' every %llu ns: its timer would "
				  "stop the program; the shortest period is %llu ns",
				  req->name, (unsigned long long)(0 - set->preset[i]),
				  (unsigned long long)least);
	return cpci_failf(cpc, fn, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "the handler of an overflow of '%s' would never be left: it takes "
			  "some of these itself; %llu is the shortest period in this set",
			  req->name, (unsigned long long)least);
}

/*
 * A sum of counters has no overflow, because none of the counters knows the sum.  That of the kinds
 * of cores is such a sum: the kernel does not move the rest of a period with the LWP.
 */
static int refuse_sum(cpc_t *cpc, const char *fn, const struct cpci_req *req)
{
	const struct cpci_cores *cores = cpci_cores();

	if (cpci_is_of_kinds(&req->event) && req->event.nterms <= cores->n)
		return cpci_failf(cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
				  "cannot report overflows of '%s': each of the %u kinds of cores "
				  "counts a part of it; name one kind, as in '%s/instructions/'",
				  req->name, req->event.nterms, cores->core[0].name);
	return cpci_failf(cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
			  "cannot report overflows of '%s': it is made of %u counters", req->name,
			  req->event.nterms);
}

static int check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, uint_t i)
{
	const struct cpci_req *req = &set->plan->req[i];

	if ((req->flags & CPC_OVF_NOTIFY_EMT) == 0)
		return 0;
	if (req->event.nterms > 1)
		return refuse_sum(cpc, fn, req);
	if (cpci_perf_overflow_hangs(&req->event.term[0].attr))
		return cpci_failf(cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
				  "cannot report overflows of '%s': they would hang this kernel; "
				  "clocks can overflow before Linux 6.16 and from 6.17.8 on",
				  req->name);
	if (cpci_perf_is_stepped_over(&req->event.term[0].attr))
		return cpci_failf(
			cpc, fn, ENOTSUP, CPC_RESOURCE_UNAVAIL,
			"cannot report overflows of '%s': on this kind of CPU a breakpoint "
			"is hit again by the signal that reports it; uprobe/func=NAME/ "
			"reports calls of a function",
			req->name);
	return check_period(cpc, fn, set, i);
}

/* Can overflows be reported to the calling LWP? */
static int check_own(cpc_t *cpc, const char *fn, const cpc_set_t *set, uint_t flags)
{
	if (set->plan->noverflows > 0 && (flags & CPC_BIND_LATE) != 0)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  "overflows can only be reported if all symbols are known");
	for (uint_t i = 0; i < set->plan->nreqs; i++) {
		if (check_request(cpc, fn, set, i) == -1)
			return -1;
	}
	/* A set with unknown symbols is a trial for other, traced processes. */
	if ((flags & CPC_BIND_LATE) != 0 && check_traced(cpc, fn, set) == -1)
		return -1;
	if (set->plan->noverflows > 0 && cpci_overflow_prepare() == 0)
		return cpci_failf(cpc, fn, ENOTSUP, 0,
				  "the program uses all real-time signals: none is left for "
				  "overflows");
	return 0;
}

/* Can the library see which LWPs inherit the set? */
static int check_inherit(cpc_t *cpc, const char *fn, uint_t flags)
{
	if ((flags & CPC_BIND_LWP_INHERIT) == 0)
		return 0;
	if ((flags & CPC_BIND_LATE) != 0)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  "a set can only be inherited if all its symbols are known");
	if (!cpci_births_seen())
		return cpci_failf(cpc, fn, ENOTSUP, 0,
				  "cannot see which threads the program creates: it is not "
				  "linked with this library");
	return 0;
}

/* ---- a bind, completely or not at all ----------------------------------------------------- */

/* The set of the calling LWP that another one replaces; NULL: none. */
static cpc_set_t *own_before(const cpc_set_t *set, enum cpci_bound bound)
{
	cpc_set_t *own = bound == CPCI_LWP || bound == CPCI_CPU ? cpci_link_own() : NULL;

	return own != set ? own : NULL;
}

/* Takes the claim of the CPU, or reuses that of the set which is about to be replaced. */
static struct cpci_claim *take_cpu(cpc_set_t *set, int cpu, enum cpci_bound bound,
				   struct cpci_diag *diag)
{
	cpc_set_t *const before[] = {set, own_before(set, bound)};

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		struct cpci_claim *claim = before[i] != NULL ? before[i]->claim : NULL;

		if (cpci_claim_is_for(claim, cpu)) {
			before[i]->claim = NULL;
			return claim;
		}
	}
	return cpci_claim(cpu, diag);
}

/*
 * Starts counting.  If another program holds the counters, this fails at once for a running
 * target; for an LWP that is stopped, only a later sample notices.
 */
static int start_counting(struct cpc_set *set, struct cpci_term_ref *bad)
{
	int lost;

	if ((set->overflow != NULL ? cpci_overflow_start(set)
				   : cpci_group_start(set->plan, set->fd)) == -1)
		return errno;
	lost = set->bound != CPCI_PCTX ? cpci_group_lost(set->plan, set->fd) : -1;
	if (lost == -1)
		return 0;
	*bad = set->plan->ref[set->plan->group[lost].first];
	return EAGAIN;
}

/* The LWP of a controlled process that a set is bound to. */
struct controlled {
	pctx_t *pctx;
	id_t lwp;
};

/* What a set allocates while it is bound; it is allocated before anything changes. */
struct holdings {
	uint64_t *start;		/* followed by the array of files */
	struct cpci_link *link;		/* NULL: CPCI_CPU_REMOTE */
	struct cpci_overflow *overflow; /* NULL: not CPCI_LWP */
	struct cpci_pcbuf *pcbuf;	/* NULL: no request is buffered */
	struct cpci_family *family;	/* NULL: not inheritable */
	struct cpci_symbol_addr *bp;	/* NULL: there are no symbols */
	struct cpci_claim *claim;	/* NULL: of no CPU */
	struct cpci_epoch epoch;
};

static void free_holdings(const cpc_set_t *set, const struct holdings *hold)
{
	cpci_symbol_addrs_free(hold->bp, set->plan->nterms);
	cpci_family_drop(hold->family);
	cpci_pcbuf_close(hold->pcbuf);
	free(hold->overflow);
	free(hold->link);
	free(hold->start);
}

/* -1 and errno: ENOMEM, EMFILE, or that of pthread_setspecific(3). */
static int make_holdings(struct holdings *hold, cpc_set_t *set, enum cpci_bound bound, uint_t flags)
{
	const struct cpci_plan *plan = set->plan;

	if ((bound == CPCI_LWP || bound == CPCI_CPU) && cpci_unbind_at_exit() == -1)
		return -1;
	*hold = (struct holdings){
		.start = malloc(cpci_set_room(plan)),
		.link = bound != CPCI_CPU_REMOTE ? cpci_link_new() : NULL,
		.epoch = CPCI_EPOCH_EXEMPT,
	};
	if (bound == CPCI_LWP)
		hold->overflow = cpci_overflow_new(plan);
	if ((flags & CPC_BIND_LWP_INHERIT) != 0)
		hold->family = cpci_family_new(set);
	if (hold->start != NULL && (hold->link != NULL || bound == CPCI_CPU_REMOTE) &&
	    (hold->overflow != NULL || bound != CPCI_LWP) &&
	    (hold->family != NULL || (flags & CPC_BIND_LWP_INHERIT) == 0)) {
		memcpy(hold->start, set->preset, plan->nreqs * sizeof(*hold->start));
		return 0;
	}

	int err = errno;

	free_holdings(set, hold);
	return cpci_errno(err);
}

/* Unbinds the sets that the new binding replaces. */
static void make_way(cpc_set_t *set, enum cpci_bound bound)
{
	cpc_set_t *own = own_before(set, bound);

	if (own != NULL)
		cpci_unbind(own);
	if (set->bound != CPCI_UNBOUND)
		cpci_unbind(set);
}

/*
 * Opens the counters of a set.  On ESRCH, tries again unless the LWP has exited: another LWP
 * of the process that executes a program takes the id of an exited leader, and is counted then.
 * Sets `ended` if the LWP has exited, because a later check could find a new owner of the id.
 */
static int open_counters(cpc_set_t *set, struct cpci_target target,
			 const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad,
			 bool *ended)
{
	if (cpci_group_open(set->plan, target, opening, fd, bad) == 0)
		return 0;
	if (errno != ESRCH || target.tid <= 0)
		return -1;
	*ended = cpci_lwp_ended(target.tid);
	if (!*ended)
		return cpci_group_open(set->plan, target, opening, fd, bad);
	return cpci_errno(ESRCH);
}

/*
 * Opens the counters of a set before those that it replaces are closed; unless the old ones
 * occupy the debug registers that it needs.
 */
static int open_beside(cpc_set_t *set, struct cpci_target target, enum cpci_bound bound,
		       const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad,
		       bool *ended)
{
	const struct cpci_term *term;
	uint_t n;

	if (open_counters(set, target, opening, fd, bad, ended) == 0)
		return 0;
	term = cpci_plan_term(set->plan, *bad);
	if (errno == ENOSPC && term->attr.type == PERF_TYPE_BREAKPOINT) {
		if (cpci_debugreg_suffice(set->plan, term, &n)) {
			make_way(set, bound);
			return open_counters(set, target, opening, fd, bad, ended);
		}
		errno = ENOSPC;
	}
	return -1;
}

/*
 * Takes the claim of a CPU, or the epoch of an LWP's set, unless the set has no counters that
 * only one program can have at a time.  -1: a CPU is claimed, see `diag`.
 */
static int exclude_others(cpc_set_t *set, struct cpci_target target, enum cpci_bound bound,
			  uint_t flags, struct holdings *hold, struct cpci_diag *diag)
{
	if (!set->plan->core)
		return 0;
	if (target.cpu == -1 || (flags & CPC_BIND_CPU_LWPS) != 0)
		return cpci_epoch_take(&hold->epoch, diag);
	if ((flags & CPC_BIND_CPU_SHARED) != 0)
		return 0;
	hold->claim = take_cpu(set, target.cpu, bound, diag);
	return hold->claim != NULL ? 0 : -1;
}

/* Registers the set with the LWPs that may switch it or replace it. */
static int make_known(cpc_set_t *set, struct cpci_link *link, const struct controlled *controlled)
{
	set->link = link;
	if (link == NULL)
		return 0;
	link->set = set;
	if (controlled != NULL) {
		set->pctx = controlled->pctx;
		return cpci_answer_lwp(controlled->pctx, controlled->lwp, link);
	}
	cpci_link_set_own(link);
	return 0;
}

/* Has the kernel set the probes of functions in the memory of the target? */
static int check_installed(const cpc_set_t *set, struct cpci_target target,
			   const struct cpci_symbol_addr *at, struct cpci_diag *diag)
{
	const char *name, *why;
	int i = target.tid != -1 ? cpci_symbols_check(set->plan, at, target.tid, &name, &why) : -1;

	if (i == -1)
		return 0;
	return cpci_diag(
		diag, ESTALE, CPC_RESOURCE_UNAVAIL,
		"cannot count '%s': the process has mapped the code of '%s' %s, where the kernel sets no "
		"probes",
		set->plan->req[set->plan->ref[i].req].name, name, why);
}

/*
 * Binds a set completely or not at all: the new counters are opened and the CPU is claimed
 * before the set's, and the LWP's, old counters are released, so that a refusal changes
 * nothing.  The caller holds the lock.  Unless `start` was moved to the set, the caller still
 * owns `hold`.
 */
static int bind_with(cpc_set_t *set, struct cpci_target target, const struct controlled *controlled,
		     enum cpci_bound bound, uint_t flags, struct holdings *hold,
		     struct cpci_diag *diag)
{
	struct cpci_opening opening = {
		.preset = bound == CPCI_LWP ? set->preset : NULL,
		.sample_type = cpci_pcbuf_sample_type(set->plan),
		.watch = target.cpu != -1 && (flags & CPC_BIND_CPU_LWPS) == 0,
		.filled = (flags & CPC_BIND_CPU_FILLED) != 0,
		.sessions = (flags & CPC_BIND_CPU_SESSIONS) != 0,
	};
	struct cpci_term_ref bad = {0};
	bool ended = false;
	int *fd = (int *)&hold->start[set->plan->nreqs], err;

	if ((flags & (CPC_BIND_CPU_LWPS | CPC_BIND_CPU_FUNCTIONS)) != CPC_BIND_CPU_LWPS &&
	    cpci_symbols_make(set, target, flags, &hold->bp, diag) == -1)
		return -1;
	opening.bp = hold->bp;
	if (open_beside(set, target, bound, &opening, fd, &bad, &ended) == -1)
		return ended ? cpci_diag(diag, ESRCH, 0, "the LWP has ended")
			     : cpci_explain_plan(diag, errno, set->plan, bad, target);
	if (check_installed(set, target, hold->bp, diag) == -1) {
		cpci_group_close(set->plan, fd);
		return -1;
	}
	if (set->plan->nbuffered > 0)
		hold->pcbuf = cpci_pcbuf_open(set->plan, fd, false, diag);
	if ((set->plan->nbuffered > 0 && hold->pcbuf == NULL) ||
	    exclude_others(set, target, bound, flags, hold, diag) == -1) {
		cpci_group_close(set->plan, fd);
		return -1;
	}
	/* LWPs that inherit the set, and BPF programs, need the files. */
	if (hold->family == NULL && !opening.sessions)
		cpci_symbol_addrs_close(hold->bp, set->plan->nterms);
	make_way(set, bound);
	free(set->start);
	set->fd = fd;
	set->start = hold->start;
	set->overflow = hold->overflow;
	set->family = hold->family;
	set->pcbuf = hold->pcbuf;
	set->bp = hold->bp;
	set->target = target.tid != 0 ? target.tid : cpci_self();
	/* With several kinds of cores, a group is on the hardware only part of the time. */
	set->tick_source = cpci_cores()->n > 1 ? CPCI_RAW_ENABLED : CPCI_RAW_RUNNING;
	set->owner = cpci_self();
	set->off = (flags & CPC_BIND_DISABLED) != 0;
	set->lwps = (flags & CPC_BIND_CPU_LWPS) != 0;
	set->claim = hold->claim;
	set->epoch = hold->epoch;
	/* From now on a signal handler of this thread may sample the set. */
	atomic_signal_fence(memory_order_release);
	set->bound = bound;
	err = make_known(set, hold->link, controlled) == -1 ? errno : 0;
	if (err == 0 && set->overflow != NULL)
		err = cpci_overflow_notify(set) == -1 ? errno : 0;
	if (err == 0 && !set->off)
		err = start_counting(set, &bad);
	if (err != 0) {
		cpci_unbind(set);
		return cpci_explain_plan(diag, err, set->plan, bad, target);
	}
	if (bound == CPCI_LWP) {
		void **page = cpci_group_map(set->plan, set->fd);

		/* A signal handler of this thread must see all pages or none. */
		atomic_signal_fence(memory_order_release);
		set->page = page;
	}
	return 0;
}

/* The CPUs on which the calling thread may run; NULL and errno. */
static cpu_set_t *get_affinity(void)
{
	cpu_set_t *mask = malloc(CPCI_AFFINITY_SIZE);

	if (mask == NULL || sched_getaffinity(0, CPCI_AFFINITY_SIZE, mask) == 0)
		return mask;
	free(mask);
	return NULL;
}

static int move_to(processorid_t cpu)
{
	cpu_set_t *mask = calloc(1, CPCI_AFFINITY_SIZE);
	int rc;

	if (mask == NULL)
		return -1;
	CPU_SET_S((size_t)cpu, CPCI_AFFINITY_SIZE, mask);
	rc = sched_setaffinity(0, CPCI_AFFINITY_SIZE, mask);
	free(mask);
	return rc;
}

/* Moves the calling LWP to the CPU of its set, or unbinds the set.  -1: see `diag`. */
static int stay_on_cpu(cpc_set_t *set, processorid_t cpu, struct cpci_diag *diag)
{
	set->affinity = get_affinity();
	if (set->affinity != NULL && move_to(cpu) == 0)
		return 0;

	int err = errno;

	cpci_unbind(set);
	return cpci_diag(diag, err, CPC_PBIND_FAILED, "the calling LWP cannot be put on CPU %d: %s",
			 cpu, strerror(err));
}

static int bind(cpc_t *cpc, const char *fn, cpc_set_t *set, struct cpci_target target,
		const struct controlled *controlled, enum cpci_bound bound, uint_t flags)
{
	struct cpci_diag diag = {0};
	struct holdings hold;
	cpc_set_t *own;
	sigset_t old;
	bool masked;
	int rc;

	cpci_lock();
	if (bound == CPCI_LWP && (set = cpci_twin(set)) == NULL) {
		cpci_unlock();
		return cpci_fail_nomem(cpc, fn);
	}
	if (make_holdings(&hold, set, bound, flags) == -1) {
		cpci_unlock();
		return cpci_failf(cpc, fn, errno, 0, "%s", strerror(errno));
	}
	/* An overflow that happens at once must be reported after the set is bound. */
	masked = set->plan->noverflows > 0;
	if (masked)
		cpci_block_signals(&old);
	if (bound == CPCI_PCTX)
		cpci_group_keep(set->plan);
	cpci_clock_stop(&cpc->clock);
	rc = bind_with(set, target, controlled, bound, flags, &hold, &diag);
	/* Such a bind is a trial: duplicates of the set will be bound to other LWPs. */
	if (rc == 0 && (flags & CPC_BIND_LATE) != 0)
		cpci_group_keep(set->plan);
	/* Only now, because releasing the set's old binding restores the old affinity. */
	if (rc == 0 && bound == CPCI_CPU)
		rc = stay_on_cpu(set, target.cpu, &diag);
	/* The calling LWP's twin of a set that it has bound to something else. */
	own = cpci_link_copy(set);
	if (rc == 0 && own != set)
		cpci_unbind(own);
	if (set->start != hold.start)
		free_holdings(set, &hold);
	cpci_unlock();
	if (masked)
		cpci_unblock_signals(&old);
	if (rc == 0 && diag.subcode == CPC_WARNING)
		cpci_warn(cpc, fn, diag.text);
	return rc == 0 ? 0 : cpci_fail(cpc, fn, &diag);
}

/* ---- the public calls --------------------------------------------------------------------- */

int cpc_bind_curlwp(cpc_t *cpc, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_curlwp";

	if (check(cpc, fn, set, flags, CPC_BIND_DISABLED | CPC_BIND_LATE | CPC_BIND_LWP_INHERIT) ==
		    -1 ||
	    check_own(cpc, fn, set, flags) == -1 || check_inherit(cpc, fn, flags) == -1)
		return -1;
	return bind(cpc, fn, set, CPCI_TARGET_SELF, NULL, CPCI_LWP, flags);
}

int cpc_bind_pctx(cpc_t *cpc, pctx_t *pctx, id_t id, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_pctx";
	const struct controlled controlled = {.pctx = pctx, .lwp = id};
	struct cpci_target target = {.cpu = -1};

	if (check(cpc, fn, set, flags, CPC_BIND_DISABLED | CPC_BIND_LATE) == -1 ||
	    check_overflows(cpc, fn, set) == -1 || check_traced(cpc, fn, set) == -1)
		return -1;
	target.tid = pctx_lwp_tid(pctx, id);
	if (target.tid == -1)
		return errno == EINVAL ? cpci_failf(cpc, fn, EINVAL, 0,
						    "not a handle of a controlled process")
				       : cpci_failf(cpc, fn, ESRCH, 0, "no LWP %d in process %d",
						    (int)id, (int)pctx_pid(pctx));
	return bind(cpc, fn, set, target, &controlled, CPCI_PCTX, flags);
}

int cpc_bind_cpu(cpc_t *cpc, processorid_t id, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_cpu";
	const struct cpci_target target = {.tid = -1, .cpu = id};

	if (check(cpc, fn, set, flags,
		  CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED | CPC_BIND_CPU_LWPS |
			  CPC_BIND_CPU_FUNCTIONS | CPC_BIND_CPU_FILLED | CPC_BIND_CPU_SESSIONS) ==
		    -1 ||
	    check_overflows(cpc, fn, set) == -1)
		return -1;
	if ((flags & CPC_BIND_CPU_LWPS) != 0 && (flags & CPC_BIND_CPU_SHARED) == 0)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  "CPC_BIND_CPU_LWPS requires CPC_BIND_CPU_SHARED");
	if (id < 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "no CPU %d", id);
	return bind(cpc, fn, set, target, NULL,
		    (flags & CPC_BIND_CPU_REMOTE) != 0 ? CPCI_CPU_REMOTE : CPCI_CPU, flags);
}
