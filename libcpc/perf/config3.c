/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* config3.c - config3 of struct perf_event_attr, which headers before Linux 6.3 lack. */
#include "perf.h"

/* Its place is that of sample_regs_intr, which libcpc never uses. */
__u64 *cpci_perf_config3(struct perf_event_attr *attr)
{
	return &attr->sample_regs_intr;
}
