/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sched.h - the events of the scheduler.  perf_event_open(2) does not count them, but BPF programs
 * at context switches can.
 */
#ifndef CPCI_SCHED_H
#define CPCI_SCHED_H

#include <linux/perf_event.h>
#include <stdbool.h>

/* The config of PERF_TYPE_SOFTWARE, far from the numbers of the kernel. */
enum cpc_sched_event {
	CPC_SCHED_BUSY_TIME = 0x63706300,
	CPC_SCHED_RUN_DELAY,
	CPC_SCHED_PREEMPTIONS,
	CPC_SCHED_PREEMPTIONS_BY_OTHERS,
	CPC_SCHED_THROTTLED_TIME,
};

#define CPC_SCHED_BIT(event) (1u << ((event)-CPC_SCHED_BUSY_TIME))

static inline bool cpc_is_sched_event(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config >= CPC_SCHED_BUSY_TIME &&
	       attr->config <= CPC_SCHED_THROTTLED_TIME;
}

#endif /* CPCI_SCHED_H */
