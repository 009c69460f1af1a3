/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * core-pmu.c - linked with --wrap=syscall, a program has a core PMU wherever it runs: on a machine
 * without one, its events count page faults.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* Does the kernel drive a core PMU?  It may also refuse for another reason than that. */
static bool have_core_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = __real_syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd != -1)
		close((int)fd);
	return fd != -1 || errno != ENOENT;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_perf_event_open) {
		struct perf_event_attr *attr = (struct perf_event_attr *)a;

		if ((attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
		     attr->type == PERF_TYPE_RAW) &&
		    !have_core_pmu()) {
			attr->type = PERF_TYPE_SOFTWARE;
			attr->config = PERF_COUNT_SW_PAGE_FAULTS;
			attr->config1 = attr->config2 = 0;
			attr->precise_ip = 0;
		}
	}
	return __real_syscall(number, a, b, c, d, e, f);
}
