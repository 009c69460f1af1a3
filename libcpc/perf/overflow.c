/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* overflow.c - events that send a signal at overflow: perf_event_open(2), "Overflow handling". */
#include "perf.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t clamp(uint64_t period)
{
	return period == 0 || period > INT64_MAX ? INT64_MAX : period;
}

void cpci_perf_set_period(struct perf_event_attr *attr, uint64_t period)
{
	attr->sample_period = clamp(period);
}

int cpci_perf_change_period(int fd, uint64_t period)
{
	period = clamp(period);
	return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

/* The owner is a thread: any thread of a process may take a signal for the process. */
int cpci_perf_notify(int fd, pid_t tid, int sig)
{
	const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};

	if (fcntl(fd, F_SETSIG, sig) == -1 || fcntl(fd, F_SETOWN_EX, &owner) == -1)
		return -1;
	return fcntl(fd, F_SETFL, O_ASYNC);
}

int cpci_perf_arm(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
}

/* The C library's ioctl() is variadic, which costs more than this whole function. */
int cpci_perf_rearm(int fd)
{
	if (syscall(SYS_ioctl, fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP) == -1)
		return -1;
	return (int)syscall(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, 1);
}

uint64_t cpci_perf_least_period(const struct perf_event_attr *attr)
{
	return cpci_perf_is_clock(attr) ? 100000 : 1;
}

bool cpci_perf_overflows(const struct perf_event_attr *attr)
{
	struct perf_event_attr sampling = *attr;

	cpci_perf_set_period(&sampling, 1U << 30);
	return cpci_perf_probe(&sampling) == 0;
}

bool cpci_perf_overflow_hangs(const struct perf_event_attr *attr)
{
	long kernel = cpci_kernel();

	return cpci_perf_is_clock(attr) && kernel >= CPCI_KERNEL(6, 16, 0) &&
	       kernel < CPCI_KERNEL(6, 17, 8);
}
