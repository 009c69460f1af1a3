/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * group.c - groups of kernel counters: open, start, read, close.
 *
 * A group is pinned: it either counts all the time, or it is in the error state, in which
 * read(2) returns end of file.  The kernel never multiplexes it (perf_event_open(2)).
 */
#include "group.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Keeps errno. */
static void close_some(const int *fd, uint_t n)
{
	while (n-- > 0)
		cpci_close(fd[n]);
}

/* Is the group for cores of another kind than that CPU? */
static bool is_elsewhere(const struct cpci_plan *plan, const struct cpci_group *group,
			 struct cpci_target target)
{
	return target.cpu >= 0 && cpci_cores()->n > 1 &&
	       !cpci_pmu_counts_on(&cpci_plan_nth(plan, group->first)->attr, target.cpu);
}

/* The attr for opening term `i`. */
static struct perf_event_attr opened_as(const struct cpci_plan *plan, uint_t i,
					const struct cpci_opening *opening)
{
	struct perf_event_attr attr = cpci_term_event(cpci_plan_nth(plan, i),
						      opening->bp != NULL ? &opening->bp[i] : NULL);
	const struct cpci_req *req = &plan->req[plan->ref[i].req];

	if (opening->sample_type != 0)
		cpci_ring_clock(&attr);
	if (opening->preset != NULL && cpci_plan_overflows(plan, i))
		cpci_perf_set_period(&attr, 0 - opening->preset[plan->ref[i].req]);
	if (opening->preset != NULL && cpci_plan_buffers(plan, i)) {
		attr.exclude_callchain_kernel = (req->flags & CPC_COUNT_SYSTEM) == 0;
		cpci_ring_record(&attr, opening->sample_type, CPC_PCBUF_SIZE, opening->precise);
	}
	return attr;
}

/* Opens a term at its place in a group.  -1 and errno. */
static int open_term(const struct cpci_term *term, const struct perf_event_attr *attr,
		     const struct cpci_symbol_addr *at, struct cpci_target target, int leader,
		     bool disabled)
{
	int fd;

	if (cpci_perf_is_uprobe(attr))
		return cpci_uprobe_open(attr, at->file, at->offset, target, disabled);
	fd = cpci_perf_open(attr, target, leader, disabled);
	if (fd == -1 || !cpci_term_is_filtered(term) || cpci_perf_filter(fd, term->filter) == 0)
		return fd;
	cpci_close(fd);
	return -1;
}

/* Opens one group; only its leader can be disabled. */
static int open_one(const struct cpci_plan *plan, const struct cpci_group *group,
		    const struct cpci_opening *opening, struct cpci_target target, bool disabled,
		    int *fd, struct cpci_term_ref *bad)
{
	for (uint_t i = 0; i < group->n; i++) {
		uint_t at = group->first + i;
		struct perf_event_attr attr = opened_as(plan, at, opening);

		fd[i] = open_term(cpci_plan_nth(plan, at), &attr,
				  opening->bp != NULL ? &opening->bp[at] : NULL, target,
				  i == 0 ? -1 : fd[0], disabled && i == 0);
		if (fd[i] == -1) {
			int err = errno;

			close_some(fd, i);
			*bad = plan->ref[at];
			/* For a member of a group the kernel may report another error. */
			if (i > 0 && target.tid > 0 && cpci_lwp_ended(target.tid))
				err = ESRCH;
			return cpci_errno(err);
		}
	}
	return 0;
}

/*
 * Do the members of a group fit the PMU?  The kernel only checks this if the leader is
 * enabled; and on some machines not while a pinned leader is in the error state.  So try with
 * an enabled leader that is not pinned.  Counters that other sets hold, even one of our own
 * that is about to go, do not matter here.
 */
static int check_fit(struct cpci_plan *plan, struct cpci_target target,
		     const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad)
{
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_group *group = &plan->group[g];

		if (!group->hardware || group->n == 1 || is_elsewhere(plan, group, target))
			continue;
		if (open_one(plan, group, opening, target, false, fd, bad) == -1)
			return -1;
		close_some(fd, group->n);
	}
	plan->fits = target.cpu < 0 || cpci_cores()->n < 2;
	return 0;
}

/* Are all terms uprobes, which may be opened later?  Uprobes come last. */
static bool only_uprobes(const struct cpci_plan *plan)
{
	return cpci_perf_is_uprobe(&cpci_plan_nth(plan, 0)->attr);
}

/*
 * Opens a software event next to `hardware`; NULL: anywhere.  Before Linux 6.2, the kernel
 * keeps the software and hardware events of an LWP apart, each with its own clock.
 */
static int open_beside(const struct perf_event_attr *attr, const struct cpci_term *hardware,
		       struct cpci_target target, bool disabled)
{
	int leader = -1, fd;

	if (hardware != NULL && cpci_kernel() < CPCI_KERNEL(6, 2, 0)) {
		struct perf_event_attr first = cpci_term_event(hardware, NULL);

		first.use_clockid = attr->use_clockid;
		first.clockid = attr->clockid;
		leader = cpci_perf_open(&first, target, -1, true);
		if (leader == -1)
			return -1;
	}
	fd = cpci_perf_open(attr, target, leader, disabled);
	cpci_close(leader);
	return fd;
}

/*
 * When an LWP exits, the kernel forgets that its group was in the error state, and the last
 * values look like counts.  So libcpc adds a witness next to the hardware events of an LWP.  This
 * event cannot lose its counter, so it shows for how long the group should have been enabled.
 * It stays on the clock of the hardware events that it was opened with.  It also provides the
 * time of a plan that has only uprobes.
 */
static bool open_witness(const struct cpci_plan *plan, struct cpci_target target, int *fd)
{
	uint_t g = 0;

	while (g < plan->ngroups && !plan->group[g].core)
		g++;
	*fd = -1;
	if (target.cpu >= 0 || (g == plan->ngroups && !only_uprobes(plan)) ||
	    (g < plan->ngroups && target.tid == 0))
		return true;
	*fd = open_beside(&cpci_perf_dummy,
			  g < plan->ngroups ? cpci_plan_nth(plan, plan->group[g].first) : NULL,
			  target, true);
	return *fd != -1;
}

int cpci_group_open_owner(const struct cpci_plan *plan, uint64_t sample_type)
{
	const struct perf_event_attr attr = cpci_ring_owner(sample_type);
	const struct cpci_term *beside = NULL;
	bool buffers = false;

	for (uint_t g = 0; g < plan->ngroups && !buffers; g++) {
		const struct cpci_group *group = &plan->group[g];

		beside = NULL;
		for (uint_t i = group->first; i < group->first + group->n; i++) {
			buffers |= cpci_plan_buffers(plan, i);
			if (!cpci_perf_is_software(&cpci_plan_nth(plan, i)->attr))
				beside = cpci_plan_nth(plan, i);
		}
	}
	return open_beside(&attr, beside, CPCI_TARGET_SELF, false);
}

int cpci_group_least_ns(const struct cpci_plan *plan, const int *fd, uint64_t *ns)
{
	/* Some kernels (6.1.176) require space for the closed leader, too. */
	uint64_t raw[CPCI_RAW_VALUES + 2];
	int witness = fd[plan->nterms];
	ssize_t got;

	*ns = 0;
	if (witness == -1)
		return 0;
	got = read(witness, raw, sizeof(raw));
	if (got <= 0) {
		if (got == 0)
			errno = EAGAIN;
		return -1;
	}
	*ns = raw[CPCI_RAW_ENABLED];
	return 0;
}

/*
 * When a CPU goes offline, the kernel takes its groups apart, and a read of the leader has fewer
 * values from then on.  A group of one term shows nothing.  So if no group has more, libcpc
 * adds a member that counts nothing to the first one.
 */
static bool open_watch(const struct cpci_plan *plan, struct cpci_target target, int *fd)
{
	int leader = -1;

	for (uint_t g = plan->ngroups; g-- > 0;) {
		const struct cpci_group *group = &plan->group[g];

		if (fd[group->first] == -1)
			continue;
		if (group->n > 1)
			return true;
		leader = fd[group->first];
	}
	if (leader == -1)
		return true;
	fd[plan->nterms] = cpci_perf_open(&cpci_perf_dummy, target, leader, false);
	return fd[plan->nterms] != -1;
}

/*
 * A uprobe whose function is not found yet, or not requested, is opened later, or by a BPF
 * program; but missing privilege is reported now.  1: later; -1 and errno.
 */
static int is_later(const struct cpci_plan *plan, const struct cpci_group *group,
		    const struct cpci_opening *opening)
{
	const struct perf_event_attr *attr = &cpci_plan_nth(plan, group->first)->attr;

	if (!cpci_perf_is_uprobe(attr) ||
	    (opening->bp != NULL && opening->bp[group->first].file != -1 &&
	     !(opening->sessions && cpci_uprobe_returns(attr))))
		return 0;
	if (cpci_plan_nth(plan, group->first)->site > 1) /* the first site was tried */
		return 1;
	errno = cpci_uprobe_permitted(attr);
	return errno == 0 ? 1 : -1;
}

/*
 * Opens a group on a CPU of another kind: as events that count nothing, if `filled`.  On x86 an
 * offline CPU is in no list of a PMU, and so its kind is unknown.
 */
static int open_elsewhere(const struct cpci_group *group, struct cpci_target target, bool filled,
			  int *fd)
{
	for (uint_t i = 0; i < group->n; i++)
		fd[i] = -1;
	if (!filled)
		return 0;
	if (!cpci_cores_have_cpu(target.cpu))
		return cpci_errno(ENODEV);
	for (uint_t i = 0; i < group->n; i++) {
		fd[i] = cpci_perf_open(&cpci_perf_dummy, target, i == 0 ? -1 : fd[0], i == 0);
		if (fd[i] == -1) {
			close_some(fd, i);
			return -1;
		}
	}
	return 0;
}

static int open_all(struct cpci_plan *plan, struct cpci_target target,
		    const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad)
{
	bool any = false;
	int rc;

	if (!plan->fits && check_fit(plan, target, opening, fd, bad) == -1)
		return -1;
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_group *group = &plan->group[g];
		const bool elsewhere = is_elsewhere(plan, group, target);

		any |= !elsewhere || opening->filled;
		rc = elsewhere ? 0 : is_later(plan, group, opening);
		if (rc == 1) {
			fd[group->first] = -1;
			continue;
		}
		*bad = plan->ref[group->first];
		if (elsewhere)
			rc = open_elsewhere(group, target, opening->filled, fd + group->first);
		else if (rc == 0)
			rc = open_one(plan, group, opening, target, true, fd + group->first, bad);
		if (rc == -1) {
			close_some(fd, group->first);
			return -1;
		}
	}
	if (any && open_witness(plan, target, &fd[plan->nterms]) &&
	    (!opening->watch || open_watch(plan, target, fd)))
		return 0;
	if (!any)
		errno = EINVAL; /* as the kernel would report */
	*bad = plan->ref[0];
	close_some(fd, plan->nterms);
	return -1;
}

int cpci_group_open(struct cpci_plan *plan, struct cpci_target target,
		    const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad)
{
	struct cpci_opening how = *opening;

	how.precise = plan->nbuffered > 0;
	if (open_all(plan, target, &how, fd, bad) == 0)
		return 0;
	/* The PMU may have fewer counters for precise events. */
	if (!how.precise || errno != EINVAL)
		return -1;
	how.precise = false;
	return open_all(plan, target, &how, fd, bad);
}

int cpci_group_settle(const struct cpci_plan *plan, uint_t i, const struct cpci_symbol_addr *at,
		      struct cpci_target target, int *fd, bool off)
{
	const struct cpci_term *term = cpci_plan_nth(plan, i);
	struct perf_event_attr attr = cpci_term_event(term, at);
	bool leads = false;

	if (cpci_perf_is_uprobe(&term->attr) && at->file == -1)
		return 0; /* this site does not exist, but another one of the probe does */
	if (cpci_perf_is_uprobe(&term->attr)) {
		*fd = cpci_uprobe_open(&attr, at->file, at->offset, target, true);
		return *fd == -1 || off ? *fd : ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	for (uint_t g = 0; g < plan->ngroups; g++)
		leads |= plan->group[g].first == i;
	return cpci_perf_modify(*fd, &attr, leads, off);
}

int cpci_group_enable(int leader)
{
	return ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
}

/* Does an ioctl(2) of all open leaders.  -1 and errno. */
static int each_leader(const struct cpci_plan *plan, const int *fd, unsigned request)
{
	int rc = 0;

	for (uint_t g = 0; g < plan->ngroups; g++) {
		int leader = fd[plan->group[g].first];

		if (leader != -1 && ioctl(leader, request, 0) == -1)
			rc = -1;
	}
	return rc;
}

/* It starts last and stops first, so that the groups never seem enabled for too short a time. */
int cpci_group_start_witness(const struct cpci_plan *plan, const int *fd)
{
	return fd[plan->nterms] != -1 ? cpci_group_enable(fd[plan->nterms]) : 0;
}

int cpci_group_start(const struct cpci_plan *plan, const int *fd)
{
	if (each_leader(plan, fd, PERF_EVENT_IOC_ENABLE) == -1)
		return -1;
	return cpci_group_start_witness(plan, fd);
}

/* poll(2) reports a group in the error state as hung up, without reading it. */
int cpci_group_lost(const struct cpci_plan *plan, const int *fd)
{
	int err = errno, lost = -1;

	for (uint_t g = 0; lost == -1 && g < plan->ngroups; g++) {
		if (read(fd[plan->group[g].first], NULL, 0) == 0)
			lost = (int)g;
	}
	errno = err;
	return lost;
}

/*
 * Enabling a lost group would bring it back as if it had never been lost.  So detect the loss
 * while the counters are off: before enabling, or after disabling.
 */
int cpci_group_switch(const struct cpci_plan *plan, const int *fd, bool on)
{
	if (!on)
		cpci_group_stop(plan, fd);
	if (cpci_group_lost(plan, fd) != -1)
		return cpci_errno(EAGAIN);
	if (on)
		cpci_group_start(plan, fd);
	return 0;
}

void cpci_group_stop(const struct cpci_plan *plan, const int *fd)
{
	if (fd[plan->nterms] != -1)
		ioctl(fd[plan->nterms], PERF_EVENT_IOC_DISABLE, 0);
	each_leader(plan, fd, PERF_EVENT_IOC_DISABLE);
}

void cpci_group_close(const struct cpci_plan *plan, const int *fd)
{
	close_some(fd, plan->nterms + 1);
}

void cpci_group_close_later(const struct cpci_plan *plan, const int *fd)
{
	for (uint_t i = 0; i < plan->nterms; i++) {
		if (fd[i] != -1 && cpci_perf_is_uprobe(&cpci_plan_nth(plan, i)->attr))
			cpci_closer_close(fd[i]);
		else
			close_some(&fd[i], 1);
	}
	close_some(&fd[plan->nterms], 1);
}

void cpci_group_reset(int leader)
{
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

int cpci_group_read(int fd, uint_t n, uint64_t *raw)
{
	size_t want = (CPCI_RAW_VALUES + n) * sizeof(*raw);
	ssize_t got = read(fd, raw, want);

	if (got == (ssize_t)want)
		return 0;
	/*
	 * End of file: the group is in the error state, because other programs have its
	 * counters.  Fewer values: its CPU went offline.
	 */
	if (got >= 0)
		errno = got == 0 ? EAGAIN : ENOSYS;
	return -1;
}

void **cpci_group_map(const struct cpci_plan *plan, const int *fd)
{
	void **page;

	/* Events that write into a ring have no page of their own. */
	if (plan->ngroups != 1 || plan->nbuffered > 0)
		return NULL;
	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct perf_event_attr *attr = &cpci_plan_nth(plan, i)->attr;

		/* The kernel computes topdown metrics. */
		if (cpci_perf_is_software(attr) || cpci_topdown_is_slots(attr) ||
		    cpci_topdown_is_metric(attr))
			return NULL;
	}
	page = calloc(plan->nterms, sizeof(*page));
	for (uint_t i = 0; page != NULL && i < plan->nterms; i++) {
		page[i] = cpci_user_map(fd[i], true);
		if (page[i] == NULL) {
			/* Use read(2) for all of them. */
			cpci_group_unmap(plan, page);
			return NULL;
		}
	}
	return page;
}

void cpci_group_unmap(const struct cpci_plan *plan, void **page)
{
	for (uint_t i = 0; page != NULL && i < plan->nterms && page[i] != NULL; i++)
		cpci_user_unmap(page[i]);
	free(page);
}
