/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * bind.c - bind, sample, unbind: the states of a set.
 */
#include "cpc_impl.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What every bind checks first. */
static int check(cpc_t *cpc, const char *fn, const cpc_set_t *set, uint_t flags, uint_t known)
{
	if (set->cpc != cpc)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set was made with another handle");
	if (set->plan->nreqs == 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set has no requests");
	if ((flags & ~known) != 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "unknown flags 0x%x", flags & ~known);
	return 0;
}

/* An LWP has one set: does `other`, bound by the caller, give way to `set`? */
static bool gives_way(const cpc_set_t *other, const cpc_set_t *set, enum cpci_bound bound)
{
	if (other == set)
		return set->bound != CPCI_UNBOUND;
	return (bound == CPCI_LWP || bound == CPCI_CPU) && other->owner == cpci_self() &&
	       (other->bound == CPCI_LWP || other->bound == CPCI_CPU);
}

/* The claim of the CPU, which that of a set that is about to give way may serve as. */
static struct cpci_claim *take_cpu(cpc_t *cpc, const cpc_set_t *set, int cpu, enum cpci_bound bound,
				   struct cpci_diag *diag)
{
	struct cpci_claim *claim;
	cpc_set_t *other;

	LIST_FOREACH(other, &cpc->sets, link) {
		claim = other->claim;
		if (gives_way(other, set, bound) && cpci_claim_is_for(claim, cpu)) {
			other->claim = NULL;
			return claim;
		}
	}
	return cpci_claim(cpu, diag);
}

static void why(struct cpci_diag *diag, const cpc_set_t *set, struct cpci_target target,
		struct cpci_member bad, int err)
{
	const struct cpci_req *req = set->plan->req;
	const struct cpci_term *term = cpci_plan_term(set->plan, bad);
	struct cpci_member other;

	if (err == ENOSPC && term->type == PERF_TYPE_BREAKPOINT) {
		cpci_why_no_register(diag, req[bad.req].name, set->plan, term);
		return;
	}
	cpci_why(diag, err, req[bad.req].name, term, target);
	if (diag->subcode == CPC_RESOURCE_UNAVAIL && err == EINVAL &&
	    cpci_group_conflict(set->plan, target, bad, &other))
		cpci_diag(diag, EINVAL, CPC_CONFLICTING_REQS,
			  "cannot count '%s' together with '%s': they need the same counter; count "
			  "them in sets of their own",
			  req[bad.req].name, req[other.req].name);
}

/*
 * What counts at once shows at once whether others hold the counters that it needs; an
 * LWP that is stopped does when it is sampled.
 */
static int start_counting(struct cpc_set *set, struct cpci_member *bad)
{
	int lost;

	if (cpci_group_start(set->plan, set->fd) == -1)
		return errno;
	lost = set->bound != CPCI_PCTX ? cpci_group_lost(set->plan, set->fd) : -1;
	if (lost == -1)
		return 0;
	*bad = set->plan->member[set->plan->group[lost].first];
	return EAGAIN;
}

/* What a set gets when it is bound. */
struct gains {
	int *fd;
	uint64_t *start;
	struct cpci_own *own; /* CPCI_LWP */
};

static void free_gains(const struct gains *gains)
{
	free(gains->own);
	free(gains->fd);
	free(gains->start);
}

static void make_way(cpc_t *cpc, cpc_set_t *set, enum cpci_bound bound)
{
	cpc_set_t *other;

	if (bound != CPCI_LWP && bound != CPCI_CPU) {
		/* The only one that does; there may be one for each of 10,000 other LWPs. */
		if (gives_way(set, set, bound))
			cpci_unbind(set);
		return;
	}
	LIST_FOREACH(other, &cpc->sets, link) {
		if (gives_way(other, set, bound))
			cpci_unbind(other);
	}
}

/*
 * Opens the counters of a set, before those that give way to it are closed; unless these
 * hold the registers that it needs for its breakpoints.
 */
static int open_beside(cpc_t *cpc, cpc_set_t *set, struct cpci_target target, enum cpci_bound bound,
		       const struct cpci_site *site, int *fd, struct cpci_member *bad)
{
	const struct cpci_term *term;
	uint_t n;

	if (cpci_group_open(set->plan, target, site, fd, bad) == 0)
		return 0;
	term = cpci_plan_term(set->plan, *bad);
	if (errno == ENOSPC && term->type == PERF_TYPE_BREAKPOINT) {
		if (cpci_registers_suffice(set->plan, term, &n)) {
			make_way(cpc, set, bound);
			return cpci_group_open(set->plan, target, site, fd, bad);
		}
		errno = ENOSPC;
	}
	return -1;
}

/*
 * All or nothing: the new counters are opened, and the CPU claimed, before the old ones
 * of the set, and of the LWP, are given up, so that a refusal changes nothing.  With the
 * lock held.  If the set has not got the new `start`, all gains are still the caller's.
 */
static int bind_with(cpc_t *cpc, cpc_set_t *set, struct cpci_target target, enum cpci_bound bound,
		     uint_t flags, const struct gains *gains, struct cpci_diag *diag)
{
	struct cpci_claim *claim = NULL;
	struct cpci_member bad = {0};
	struct cpci_pass pass = {0};
	struct cpci_site *site;
	bool excluded = true;
	int err;

	if (cpci_sites_make(cpc, set, target, flags, &site, diag) == -1)
		return -1;
	if (open_beside(cpc, set, target, bound, site, gains->fd, &bad) == -1) {
		err = errno;
		free(site);
		why(diag, set, target, bad, err);
		return -1;
	}
	if (target.cpu == -1)
		excluded = cpci_pass_take(&pass, diag) == 0;
	else if ((flags & CPC_BIND_CPU_SHARED) == 0)
		excluded = (claim = take_cpu(cpc, set, target.cpu, bound, diag)) != NULL;
	if (!excluded) {
		cpci_group_close(set->plan, gains->fd);
		free(site);
		return -1;
	}
	make_way(cpc, set, bound);
	free(set->start);
	set->fd = gains->fd;
	set->start = gains->start;
	set->site = site;
	set->target = target.tid != 0 ? target.tid : cpci_self();
	set->enabled_ns = 0;
	/* Of several kinds of cores, one kind's group is on the hardware part of the time. */
	set->tick_source = cpci_cores()->n > 1 ? CPCI_RAW_ENABLED : CPCI_RAW_RUNNING;
	set->owner = cpci_self();
	set->off = (flags & CPC_BIND_DISABLED) != 0;
	set->claim = claim;
	set->pass = pass;
	/* Now a signal handler that interrupts us may sample it. */
	atomic_signal_fence(memory_order_release);
	set->bound = bound;
	if (gains->own != NULL)
		cpci_own_add(gains->own, set);
	err = !set->off ? start_counting(set, &bad) : 0;
	if (err != 0) {
		cpci_unbind(set);
		why(diag, set, target, bad, err);
		return -1;
	}
	if (bound == CPCI_LWP)
		cpci_fast_map(set);
	return 0;
}

static int bind(cpc_t *cpc, const char *fn, cpc_set_t *set, struct cpci_target target,
		enum cpci_bound bound, uint_t flags)
{
	const struct cpci_plan *plan = set->plan;
	const struct gains gains = {
		.fd = reallocarray(NULL, plan->nmembers + 1U, sizeof(int)),
		.start = reallocarray(NULL, plan->nreqs, sizeof(uint64_t)),
		.own = bound == CPCI_LWP ? cpci_own_new() : NULL,
	};
	struct cpci_diag diag;
	int rc;

	if (gains.fd == NULL || gains.start == NULL || (bound == CPCI_LWP && gains.own == NULL)) {
		free_gains(&gains);
		return cpci_failf(cpc, fn, ENOMEM, 0, "%s", strerror(ENOMEM));
	}
	memcpy(gains.start, set->preset, plan->nreqs * sizeof(*gains.start));
	pthread_mutex_lock(&cpc->lock);
	if (bound == CPCI_PCTX)
		cpci_group_keep(set->plan);
	cpci_clock_stop(&cpc->clock);
	rc = bind_with(cpc, set, target, bound, flags, &gains, &diag);
	if (set->start != gains.start)
		free_gains(&gains);
	pthread_mutex_unlock(&cpc->lock);
	return rc == 0 ? 0 : cpci_fail(cpc, fn, &diag);
}

int cpc_bind_curlwp(cpc_t *cpc, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_curlwp";
	const struct cpci_target target = {.tid = 0, .cpu = -1};

	if (check(cpc, fn, set, flags, CPC_BIND_DISABLED | CPC_BIND_LATE) == -1)
		return -1;
	return bind(cpc, fn, set, target, CPCI_LWP, flags);
}

int cpc_bind_pctx(cpc_t *cpc, pctx_t *pctx, id_t id, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_pctx";
	struct cpci_target target = {.cpu = -1};

	if (check(cpc, fn, set, flags, CPC_BIND_DISABLED | CPC_BIND_LATE) == -1)
		return -1;
	target.tid = pctx_lwp_tid(pctx, id);
	if (target.tid == -1)
		return cpci_failf(cpc, fn, ESRCH, 0, "no LWP %d in process %d", (int)id,
				  (int)pctx_pid(pctx));
	return bind(cpc, fn, set, target, CPCI_PCTX, flags);
}

/* Where the calling thread may run; NULL and errno.  Any number of CPUs. */
static cpu_set_t *get_affinity(size_t *size)
{
	cpu_set_t *mask;

	for (int ncpus = 1024;; ncpus *= 2) {
		mask = CPU_ALLOC((size_t)ncpus);
		*size = CPU_ALLOC_SIZE((size_t)ncpus);
		if (mask == NULL || sched_getaffinity(0, *size, mask) == 0)
			return mask;
		CPU_FREE(mask);
		if (errno != EINVAL || ncpus > 1 << 20)
			return NULL;
	}
}

static int move_to(processorid_t cpu)
{
	size_t ncpus = (size_t)cpu + 1, size = CPU_ALLOC_SIZE(ncpus);
	cpu_set_t *mask = CPU_ALLOC(ncpus);
	int rc;

	if (mask == NULL)
		return -1;
	CPU_ZERO_S(size, mask);
	CPU_SET_S((size_t)cpu, size, mask);
	rc = sched_setaffinity(0, size, mask);
	CPU_FREE(mask);
	return rc;
}

static void move_back(cpc_set_t *set)
{
	/* Fails only when its CPUs are gone; then it is where it can be. */
	sched_setaffinity(0, set->affinity_size, set->affinity);
	CPU_FREE(set->affinity);
	set->affinity = NULL;
}

int cpc_bind_cpu(cpc_t *cpc, processorid_t id, cpc_set_t *set, uint_t flags)
{
	static const char fn[] = "cpc_bind_cpu";
	const struct cpci_target target = {.tid = -1, .cpu = id};
	cpu_set_t *before;
	size_t size;

	if (check(cpc, fn, set, flags, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == -1)
		return -1;
	if (id < 0)
		return cpci_failf(cpc, fn, EINVAL, 0, "no CPU %d", id);
	if ((flags & CPC_BIND_CPU_REMOTE) != 0)
		return bind(cpc, fn, set, target, CPCI_CPU_REMOTE, flags);
	if (bind(cpc, fn, set, target, CPCI_CPU, flags) == -1)
		return -1;
	/* After what the set had before is undone. */
	before = get_affinity(&size);
	if (before != NULL && move_to(id) == 0) {
		set->affinity = before;
		set->affinity_size = size;
		return 0;
	}
	int err = errno;

	CPU_FREE(before);
	pthread_mutex_lock(&cpc->lock);
	cpci_unbind(set);
	pthread_mutex_unlock(&cpc->lock);
	return cpci_failf(cpc, fn, err, CPC_PBIND_FAILED,
			  "the calling LWP cannot be put on CPU %d: %s", id, strerror(err));
}

void cpci_unbind(struct cpc_set *set)
{
	/* A signal handler that interrupts us shall not sample it any more. */
	set->bound = CPCI_UNBOUND;
	atomic_signal_fence(memory_order_release);
	cpci_fast_unmap(set);
	cpci_own_remove(set);
	cpci_group_close(set->plan, set->fd);
	free(set->fd);
	free(set->site);
	set->fd = NULL;
	set->site = NULL;
	cpci_claim_drop(set->claim);
	set->claim = NULL;
	if (set->affinity != NULL && set->owner == cpci_self())
		move_back(set);
	CPU_FREE(set->affinity);
	set->affinity = NULL;
}

int cpc_unbind(cpc_t *cpc, cpc_set_t *set)
{
	bool ours = set->cpc == cpc, bound = false;

	if (ours) {
		pthread_mutex_lock(&cpc->lock);
		bound = set->bound != CPCI_UNBOUND;
		if (bound)
			cpci_unbind(set);
		pthread_mutex_unlock(&cpc->lock);
	}
	if (bound)
		return 0;
	return cpci_failf(cpc, "cpc_unbind", EINVAL, 0,
			  ours ? "the set is not bound" : "the set was made with another handle");
}

hrtime_t cpci_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/*
 * Counters of a CPU that went offline can be read, but their time stands still.  So
 * what was counted up to there is known, and then that there is no more.
 */
static bool is_dead(cpc_set_t *set, uint64_t enabled_ns)
{
	bool stands_still = enabled_ns == set->enabled_ns;

	set->enabled_ns = enabled_ns;
	return stands_still && (set->bound == CPCI_CPU || set->bound == CPCI_CPU_REMOTE);
}

int cpc_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	const struct cpci_plan *plan = set->plan;
	uint64_t *raw = buf->raw, least_ns;
	bool timed = false;

	if (set->cpc != cpc || set->bound == CPCI_UNBOUND || buf->plan != plan ||
	    ((set->bound == CPCI_LWP || set->bound == CPCI_CPU) && set->owner != cpci_self())) {
		errno = EINVAL;
		return -1;
	}
	memcpy(buf->val, set->start, plan->nreqs * sizeof(*buf->val));
	least_ns = set->bound == CPCI_PCTX ? cpci_group_least_ns(plan, set->fd) : 0;
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_span *group = &plan->group[g];

		if (set->fd[group->first] == -1)
			continue; /* for cores of another kind */
		if (!(set->page != NULL && cpci_fast_read(set, raw)) &&
		    cpci_group_read(set->fd[group->first], group->n, raw) == -1)
			return -1;
		if (group->core && raw[CPCI_RAW_ENABLED] < least_ns) {
			errno = EAGAIN; /* it lost its counters, and then the LWP died */
			return -1;
		}
		for (uint_t i = 0; i < group->n; i++) {
			struct cpci_member member = plan->member[group->first + i];
			uint64_t count = raw[CPCI_RAW_VALUES + i];

			if (cpci_plan_term(plan, member)->minus)
				buf->val[member.req] -= count;
			else
				buf->val[member.req] += count;
		}
		if (timed)
			continue;
		timed = true;
		if (is_dead(set, raw[CPCI_RAW_ENABLED])) {
			errno = ENOSYS;
			return -1;
		}
		buf->tick = cpci_cycles(&cpc->clock, raw[set->tick_source]);
	}
	buf->hrtime = cpci_now();
	/* After the counters were read, so that these values are from before any claim. */
	if ((set->bound == CPCI_LWP || set->bound == CPCI_PCTX) &&
	    !cpci_pass_holds(&set->pass, buf->hrtime)) {
		errno = EAGAIN;
		return -1;
	}
	return 0;
}
