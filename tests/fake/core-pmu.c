/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * core-pmu.c - linked with --wrap=syscall, a program has a core PMU wherever it runs: what it
 * opens of one counts page faults.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_perf_event_open) {
		struct perf_event_attr *attr = (struct perf_event_attr *)a;

		if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
		    attr->type == PERF_TYPE_RAW) {
			attr->type = PERF_TYPE_SOFTWARE;
			attr->config = PERF_COUNT_SW_PAGE_FAULTS;
			attr->config1 = attr->config2 = 0;
			attr->precise_ip = 0;
		}
	}
	return __real_syscall(number, a, b, c, d, e, f);
}
