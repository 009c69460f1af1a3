/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * group.c - groups of kernel counters: open, start, read, close.
 *
 * A group is pinned: it counts all the time, or it is in the error state, where
 * it reads as end of file.  It is never multiplexed (perf_event_open(2)).
 */
#include "cpc_impl.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

/*
 * Where a breakpoint waits whose symbol is not known yet: nothing is ever mapped so low
 * (vm.mmap_min_addr), and it is aligned for any length.
 */
#define NOWHERE 0xff8

static struct perf_event_attr make_attr(const struct cpci_term *term, const struct cpci_site *site)
{
	struct perf_event_attr attr = {
		.type = term->type,
		.size = sizeof(attr),
		.config = term->config,
		.config1 = term->config1,
		.config2 = term->config2,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_user = term->exclude_user,
		.exclude_kernel = term->exclude_kernel,
		.exclude_hv = term->exclude_hv,
		.exclude_host = term->exclude_host,
		.exclude_guest = term->exclude_guest,
	};

	/* Address and length of a breakpoint share the places of config1 and config2. */
	attr.bp_type = term->bp_type;
	attr.precise_ip = term->precise_ip & 3U;
	if (term->symbol[0] != '\0') {
		uint64_t len = site != NULL ? site->len : 0;

		attr.bp_addr = site != NULL && site->addr != 0 ? site->addr : NOWHERE;
		if (attr.bp_len == 0)
			attr.bp_len = len == 1 || len == 2 || len == 8 ? len : 4;
	}
	return attr;
}

static int open_attr(struct perf_event_attr *attr, struct cpci_target target, int leader)
{
	return (int)syscall(SYS_perf_event_open, attr, target.tid, target.cpu, leader,
			    PERF_FLAG_FD_CLOEXEC);
}

static int open_at(const struct cpci_term *term, const struct cpci_site *site,
		   struct cpci_target target, int leader, bool disabled)
{
	struct perf_event_attr attr = make_attr(term, site);

	if (!cpci_pmu_implements(term)) {
		errno = ENOENT;
		return -1;
	}
	attr.pinned = leader == -1 && disabled;
	attr.disabled = disabled;
	if (target.tid == 0)
		attr.config1 |= cpci_fast_config1(term);
	return open_attr(&attr, target, leader);
}

static int open_term(const struct cpci_term *term, struct cpci_target target, int leader,
		     bool disabled)
{
	return open_at(term, NULL, target, leader, disabled);
}

static void close_some(const int *fd, uint_t n)
{
	while (n-- > 0) {
		if (fd[n] != -1)
			close(fd[n]);
	}
}

/* Is it a group for cores of another kind than that CPU? */
static bool is_elsewhere(const struct cpci_plan *plan, const struct cpci_span *group,
			 struct cpci_target target)
{
	return target.cpu >= 0 && cpci_cores()->n > 1 &&
	       !cpci_pmu_counts_on(cpci_plan_term(plan, plan->member[group->first]), target.cpu);
}

/*
 * Of an LWP that dies meanwhile, the kernel says of the leader that it is gone, and of the
 * others what comes to its mind.
 */
static bool has_died(const struct cpci_term *term, struct cpci_target target)
{
	int fd = target.tid > 0 ? open_term(term, target, -1, true) : -1;

	if (fd != -1)
		close(fd);
	return target.tid > 0 && fd == -1 && errno == ESRCH;
}

/* Opens members first..first + n - 1; only the leader can be disabled. */
static int open_span(const struct cpci_plan *plan, const struct cpci_span *group,
		     const struct cpci_site *site, struct cpci_target target, bool disabled,
		     int *fd, struct cpci_member *bad)
{
	for (uint_t i = 0; i < group->n; i++) {
		struct cpci_member member = plan->member[group->first + i];

		fd[i] = open_at(cpci_plan_term(plan, member),
				site != NULL ? &site[group->first + i] : NULL, target,
				i == 0 ? -1 : fd[0], disabled && i == 0);
		if (fd[i] == -1) {
			int err = errno;

			close_some(fd, i);
			*bad = member;
			if (i > 0 &&
			    has_died(cpci_plan_term(plan, plan->member[group->first]), target))
				err = ESRCH;
			errno = err;
			return -1;
		}
	}
	return 0;
}

/*
 * Does the PMU hold a group's members together?  The kernel does not look while
 * the leader is disabled, so ask with one that is not.  Nor does it on some machines
 * while a pinned leader is in the error state, so this one is not pinned either: what
 * others hold, and be it a set of ours that is about to go, is another question.
 */
static int check_fit(struct cpci_plan *plan, struct cpci_target target,
		     const struct cpci_site *site, int *fd, struct cpci_member *bad)
{
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_span *group = &plan->group[g];

		if (!group->hardware || group->n == 1 || is_elsewhere(plan, group, target))
			continue;
		if (open_span(plan, group, site, target, false, fd, bad) == -1)
			return -1;
		close_some(fd, group->n);
	}
	plan->fits = target.cpu < 0 || cpci_cores()->n < 2;
	return 0;
}

/* Before Linux 6.2 software events of an LWP have a clock that is not that of the hardware. */
static bool have_one_clock(void)
{
	static atomic_int one = -1;
	struct utsname name;
	int major = 0, minor = 0;

	if (one == -1) {
		if (uname(&name) == -1 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
			major = 0;
		one = major > 6 || (major == 6 && minor >= 2);
	}
	return one == 1;
}

/*
 * When an LWP dies, the kernel forgets that its group was in the error state, and what is
 * read then looks like a count.  So beside the hardware of an LWP that may die goes an
 * event that nobody can take its counter from, and that so shows how long the group is
 * to have been enabled.  It stays on the clock of the hardware that it was opened with.
 */
static bool open_witness(const struct cpci_plan *plan, struct cpci_target target, int *fd)
{
	const struct cpci_term dummy = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = true,
					.exclude_hv = true};
	int leader = -1, err;
	uint_t g = 0;

	while (g < plan->ngroups && !plan->group[g].core)
		g++;
	*fd = -1;
	if (g == plan->ngroups || target.tid <= 0)
		return true;
	if (!have_one_clock()) {
		leader = open_term(cpci_plan_term(plan, plan->member[plan->group[g].first]), target,
				   -1, true);
		if (leader == -1)
			return false;
	}
	*fd = open_term(&dummy, target, leader, true);
	err = errno;
	if (leader != -1)
		close(leader);
	errno = err;
	return *fd != -1;
}

uint64_t cpci_group_least_ns(const struct cpci_plan *plan, const int *fd)
{
	uint64_t raw[CPCI_RAW_VALUES + 1];
	int witness = fd[plan->nmembers];

	if (witness == -1 || cpci_group_read(witness, 1, raw) == -1)
		return 0;
	return raw[CPCI_RAW_ENABLED];
}

int cpci_group_open(struct cpci_plan *plan, struct cpci_target target, const struct cpci_site *site,
		    int *fd, struct cpci_member *bad)
{
	bool any = false;

	if (!plan->fits && check_fit(plan, target, site, fd, bad) == -1)
		return -1;
	for (uint_t g = 0; g < plan->ngroups; g++) {
		const struct cpci_span *group = &plan->group[g];

		if (is_elsewhere(plan, group, target)) {
			for (uint_t i = 0; i < group->n; i++)
				fd[group->first + i] = -1;
			continue;
		}
		any = true;
		if (open_span(plan, group, site, target, true, fd + group->first, bad) == -1) {
			int err = errno;

			close_some(fd, group->first);
			errno = err;
			return -1;
		}
	}
	if (any && open_witness(plan, target, &fd[plan->nmembers]))
		return 0;
	if (!any)
		errno = EINVAL; /* as the kernel would say */

	int err = errno;

	*bad = plan->member[0];
	close_some(fd, plan->nmembers);
	errno = err;
	return -1;
}

int cpci_group_move(const struct cpci_plan *plan, uint_t i, const struct cpci_site *site, int fd,
		    bool off)
{
	struct perf_event_attr attr = make_attr(cpci_plan_term(plan, plan->member[i]), site);

	for (uint_t g = 0; g < plan->ngroups; g++) {
		if (plan->group[g].first == i) {
			attr.pinned = 1;
			attr.disabled = off;
		}
	}
	/* All but the place is to be as it was opened, and `disabled` as it is now. */
	if (ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) == 0)
		return 0;
	if (errno == ENOTTY) /* before Linux 4.17 */
		errno = EOPNOTSUPP;
	return -1;
}

int cpci_group_start(const struct cpci_plan *plan, const int *fd)
{
	for (uint_t g = 0; g < plan->ngroups; g++) {
		int leader = fd[plan->group[g].first];

		if (leader != -1 && ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) == -1)
			return -1;
	}
	/* After the groups, lest they seem to have been enabled for too short a time. */
	if (fd[plan->nmembers] != -1)
		return ioctl(fd[plan->nmembers], PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

/* Looked at without reading: a group in the error state is at its end of file. */
int cpci_group_lost(const struct cpci_plan *plan, const int *fd)
{
	for (uint_t g = 0; g < plan->ngroups; g++) {
		if (read(fd[plan->group[g].first], NULL, 0) == 0)
			return (int)g;
	}
	return -1;
}

/*
 * Enabling would bring a lost group back, as if nothing had happened.  So that is
 * found before the counters are on, or after they are off: it is not counted.
 */
int cpci_group_switch(const struct cpci_plan *plan, const int *fd, bool on)
{
	if (on && cpci_group_lost(plan, fd) != -1) {
		errno = EAGAIN;
		return -1;
	}
	if (!on && fd[plan->nmembers] != -1)
		ioctl(fd[plan->nmembers], PERF_EVENT_IOC_DISABLE, 0);
	for (uint_t g = 0; g < plan->ngroups; g++) {
		int leader = fd[plan->group[g].first];

		if (leader != -1)
			ioctl(leader, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	}
	if (on && fd[plan->nmembers] != -1)
		ioctl(fd[plan->nmembers], PERF_EVENT_IOC_ENABLE, 0);
	if (on || cpci_group_lost(plan, fd) == -1)
		return 0;
	errno = EAGAIN;
	return -1;
}

/* Does the PMU hold these two together? */
static bool fits_pair(const struct cpci_term *a, const struct cpci_term *b,
		      struct cpci_target target)
{
	int fd[2] = {open_term(a, target, -1, false), -1};

	if (fd[0] == -1)
		return true; /* that is another trouble */
	fd[1] = open_term(b, target, fd[0], false);
	close_some(fd, fd[1] == -1 ? 1 : 2);
	return fd[1] != -1;
}

bool cpci_group_conflict(const struct cpci_plan *plan, struct cpci_target target,
			 struct cpci_member bad, struct cpci_member *other)
{
	const struct cpci_term *term = cpci_plan_term(plan, bad);

	for (uint_t i = 0; i < plan->nmembers; i++) {
		*other = plan->member[i];
		if (other->req == bad.req && other->term == bad.term)
			return false;
		if (!cpci_term_is_software(cpci_plan_term(plan, *other)) &&
		    !fits_pair(cpci_plan_term(plan, *other), term, target))
			return true;
	}
	return false;
}

void cpci_group_close(const struct cpci_plan *plan, const int *fd)
{
	close_some(fd, plan->nmembers + 1);
}

/*
 * The first event of a kind makes the kernel patch its code, and the last one
 * undoes it: 200 us and more, each time, unless one stays open.  It need not
 * count.  Where it cannot be had, all else works as well, if slower.  For a breakpoint
 * there is another one, which takes no register.
 */
void cpci_group_keep(struct cpci_plan *plan)
{
	const struct cpci_term dummy = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = true,
					.exclude_hv = true};
	const struct cpci_target target = {.tid = 0, .cpu = -1};

	if (plan->spare != NULL)
		return;
	plan->spare = calloc(plan->nmembers, sizeof(*plan->spare));
	for (uint_t i = 0; plan->spare != NULL && i < plan->nmembers; i++) {
		const struct cpci_term *term = cpci_plan_term(plan, plan->member[i]);

		plan->spare[i] = open_term(term->type == PERF_TYPE_BREAKPOINT ? &dummy : term,
					   target, -1, true);
	}
}

int cpci_group_reserve(const struct cpci_term *term, struct cpci_target target)
{
	return open_term(term, target, -1, true);
}

int cpci_group_probe(const struct cpci_term *term)
{
	const struct cpci_target target = {.tid = 0, .cpu = -1};
	int fd = open_term(term, target, -1, true);

	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

/* Adds events like `term` to a group until the PMU holds no more; how many it took. */
static uint_t fill_group(const struct cpci_term *term, int *fd, uint_t n, uint_t max)
{
	const struct cpci_target self = {.tid = 0, .cpu = -1};
	uint_t before = n;

	while (n < max && (fd[n] = open_term(term, self, n > 0 ? fd[0] : -1, false)) != -1)
		n++;
	return n - before;
}

uint_t cpci_group_capacity(void)
{
	/* Some counters count these and nothing else; the others count instructions. */
	static const uint64_t kinds[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES,
					 PERF_COUNT_HW_INSTRUCTIONS};
	struct cpci_term term = {
		.type = PERF_TYPE_HARDWARE, .exclude_kernel = true, .exclude_hv = true};
	uint_t n = 0;
	int fd[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		bool one = kinds[i] != PERF_COUNT_HW_INSTRUCTIONS;

		term.config = kinds[i];
		n += fill_group(&term, fd, n, one ? n + 1 : sizeof(fd) / sizeof(*fd));
	}
	close_some(fd, n);
	return n;
}

bool cpci_group_overflows(const struct cpci_term *term)
{
	const struct cpci_target self = {.tid = 0, .cpu = -1};
	struct perf_event_attr attr = make_attr(term, NULL);
	int fd;

	attr.disabled = 1;
	attr.sample_period = 1U << 30;
	fd = open_attr(&attr, self, -1);
	if (fd == -1)
		return false;
	close(fd);
	return true;
}

int cpci_group_read(int fd, uint_t n, uint64_t *raw)
{
	size_t want = (CPCI_RAW_VALUES + n) * sizeof(*raw);
	ssize_t got = read(fd, raw, want);

	if (got == (ssize_t)want)
		return 0;
	/*
	 * End of file: the group is in the error state, others have its counters.  Without
	 * its members: its CPU went offline.
	 */
	if (got >= 0)
		errno = got == 0 ? EAGAIN : ENOSYS;
	return -1;
}
