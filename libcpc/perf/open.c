/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* open.c - opens counters by perf_event_open(2), which libcpc calls here only. */
#include "perf.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct perf_event_attr cpci_perf_dummy = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

/* config3 is the word after the last one of headers before Linux 6.3. */
#define CONFIG3 16

union whole {
	struct perf_event_attr attr;
	__u64 word[CONFIG3 + 1];
};

/* Sets the smallest possible size of an attr: old kernels refuse words that they do not know. */
static union whole kernel_attr(const struct perf_event_attr *attr)
{
	union whole whole = {.attr = *attr};
	__u64 config3 = *cpci_perf_config3(&whole.attr);

	whole.attr.size = sizeof(whole.attr);
	if (config3 == 0)
		return whole;
	*cpci_perf_config3(&whole.attr) = 0;
	whole.attr.size = sizeof(whole);
	whole.word[CONFIG3] = config3;
	return whole;
}

/* Adds the bits that are the same for every event. */
static struct perf_event_attr complete(const struct perf_event_attr *attr, bool pinned,
				       bool disabled)
{
	struct perf_event_attr whole = *attr;

	whole.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	whole.pinned = pinned;
	whole.disabled = disabled;
	return whole;
}

static __attribute__((noinline)) void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

enum breakpoints { UNKNOWN, FIRE, NEVER_FIRE };

/* Counts one call of hit() by a breakpoint. */
static enum breakpoints try_breakpoint(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)hit,
		.bp_len = sizeof(long),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t count = 0;
	bool is_read;

	if (fd == -1)
		return UNKNOWN;
	hit();
	is_read = read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
	close(fd);
	if (!is_read)
		return UNKNOWN;
	return count > 0 ? FIRE : NEVER_FIRE;
}

/*
 * Some hypervisors accept debug registers but raise no debug exceptions.  There a breakpoint
 * event can be opened, but its count stays 0.  The first call tries it with a breakpoint of
 * our own.
 */
static bool breakpoints_fire(void)
{
	static enum breakpoints known;
	enum breakpoints answer = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (answer == UNKNOWN) {
		answer = try_breakpoint();
		__atomic_store_n(&known, answer, __ATOMIC_RELAXED);
	}
	return answer != NEVER_FIRE;
}

static unsigned counted_sched; /* bits CPC_SCHED_BIT() */

void cpci_perf_count_sched(unsigned bits)
{
	__atomic_store_n(&counted_sched, bits, __ATOMIC_RELAXED);
}

static bool is_sched_counted(const struct perf_event_attr *attr)
{
	return (__atomic_load_n(&counted_sched, __ATOMIC_RELAXED) & CPC_SCHED_BIT(attr->config)) !=
	       0;
}

int cpci_perf_open(const struct perf_event_attr *attr, struct cpci_target target, int leader,
		   bool disabled)
{
	struct perf_event_attr here = complete(attr, leader == -1 && disabled, disabled);
	union whole whole;

	if (!cpci_pmu_implements(attr) || (cpc_is_sched_event(attr) && !is_sched_counted(attr)))
		return cpci_errno(ENOENT);
	if (cpc_is_sched_event(attr))
		here.config = PERF_COUNT_SW_DUMMY;
	if (attr->type == PERF_TYPE_BREAKPOINT && !breakpoints_fire())
		return cpci_errno(CPCI_ENOBREAK);
	if (target.tid == 0)
		here.config1 |= cpci_user_config1(attr);
	whole = kernel_attr(&here);
	return (int)syscall(SYS_perf_event_open, &whole, target.tid, target.cpu, leader,
			    PERF_FLAG_FD_CLOEXEC);
}

int cpci_uprobe_open(const struct perf_event_attr *attr, int file, uint64_t offset,
		     struct cpci_target target, bool disabled)
{
	struct perf_event_attr whole = *attr;
	char path[32];

	/* Use the open file: its path could name another file by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	whole.uprobe_path = (uintptr_t)path;
	whole.probe_offset = offset;
	return cpci_perf_open(&whole, target, -1, disabled);
}

int cpci_perf_modify(int fd, const struct perf_event_attr *attr, bool leader, bool disabled)
{
	const struct perf_event_attr here = complete(attr, leader, leader && disabled);
	union whole whole = kernel_attr(&here);

	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &whole);
}

int cpci_perf_probe_target(const struct perf_event_attr *attr, struct cpci_target target)
{
	struct perf_event_attr alone = *attr;
	int fd;

	if (cpci_topdown_is_metric(attr)) /* it cannot be opened alone: try its leader */
		cpci_topdown_make_slots(&alone);
	fd = cpci_perf_open(&alone, target, -1, true);
	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

int cpci_perf_probe(const struct perf_event_attr *attr)
{
	return cpci_perf_probe_target(attr, CPCI_TARGET_SELF);
}

int cpci_perf_probe_cpu(const struct perf_event_attr *attr)
{
	char pmu[CPCI_PMU_NAME];
	int cpu = cpci_pmu_name(attr->type, pmu) ? cpci_pmu_cpu(pmu) : -1;

	return cpu == -1
		       ? EINVAL
		       : cpci_perf_probe_target(attr, (struct cpci_target){.tid = -1, .cpu = cpu});
}

int cpci_perf_filter(int fd, const char *filter)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0)
		return 0;
	/* The kernel's parser has an errno for each mistake, which have other meanings elsewhere.
	 */
	if (errno == EPERM || errno == ESRCH || errno == ENOENT)
		errno = EINVAL;
	return -1;
}

/* Without a path, the kernel's next check is that of the caller's privilege. */
int cpci_uprobe_permitted(const struct perf_event_attr *attr)
{
	struct perf_event_attr whole = *attr;
	int err;

	whole.uprobe_path = 0;
	err = cpci_perf_probe(&whole);
	return err == EACCES || err == EPERM || err == ENOSYS ? err : 0;
}

/*
 * A core PMU exists if the kernel counts cycles, or refuses for a reason other than a missing
 * PMU, whatever CPUID says.  If it refuses for lack of privilege, sysfs decides.
 */
bool cpci_perf_have_core_pmu(void)
{
	const struct perf_event_attr cycles = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	char pmu[CPCI_PMU_NAME];
	int err = cpci_perf_probe(&cycles);

	if (err == EACCES || err == EPERM)
		return cpci_pmu_name(PERF_TYPE_RAW, pmu);
	return err != ENOENT && err != EOPNOTSUPP && err != ENODEV;
}
