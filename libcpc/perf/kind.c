/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* kind.c - what kind of event an attr describes, and in which modes it counts. */
#include "perf.h"

#include <libcpc.h>
#include <linux/hw_breakpoint.h>

bool cpci_perf_is_software(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT ||
	       attr->type == PERF_TYPE_BREAKPOINT || cpci_perf_is_uprobe(attr);
}

bool cpci_perf_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool cpci_perf_is_core(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
	       attr->type == PERF_TYPE_RAW;
}

bool cpci_perf_has_address(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_BREAKPOINT ||
	       (attr->type == PERF_TYPE_SOFTWARE &&
		(attr->config == PERF_COUNT_SW_PAGE_FAULTS ||
		 attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		 attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ ||
		 attr->config == PERF_COUNT_SW_ALIGNMENT_FAULTS));
}

bool cpci_perf_is_stepped_over(const struct perf_event_attr *attr)
{
#if defined(__aarch64__)
	return attr->type == PERF_TYPE_BREAKPOINT;
#else
	(void)attr;
	return false;
#endif
}

/* On x86, data breakpoints trap after the access. */
bool cpci_perf_is_fault(const struct perf_event_attr *attr)
{
#if defined(__x86_64__)
	if (attr->type == PERF_TYPE_BREAKPOINT && attr->bp_type != HW_BREAKPOINT_X)
		return false;
#endif
	return cpci_perf_has_address(attr);
}

void cpci_perf_set_modes(struct perf_event_attr *attr, uint_t flags)
{
	attr->exclude_user = (flags & CPC_COUNT_USER) == 0;
	attr->exclude_kernel = (flags & CPC_COUNT_SYSTEM) == 0;
	attr->exclude_hv = attr->exclude_kernel;
}

/* The kernel raises these with its own registers: without kernel mode they count nothing. */
static bool happens_in_kernel_only(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return true;
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		attr->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		attr->config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

void cpci_perf_finish(struct perf_event_attr *attr, uint_t flags)
{
	/* Guests have kernels of their own; some kernels refuse these bits for software events. */
	if (cpci_perf_is_software(attr))
		attr->exclude_guest = attr->exclude_host = 0;
	/*
	 * Clocks and the scheduler's events count in both modes regardless of these bits, and
	 * functions are called in user mode; so set no bits, which would require privilege.  But
	 * overflows of clocks happen only in the modes given here.
	 */
	if (cpci_perf_is_uprobe(attr) || cpc_is_sched_event(attr) ||
	    (cpci_perf_is_clock(attr) && (flags & CPC_OVF_NOTIFY_EMT) == 0)) {
		attr->exclude_user = 0;
		attr->exclude_kernel = attr->exclude_hv = 1;
	}
	if (happens_in_kernel_only(attr))
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 0;
}
