/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * config3.c - where an attr of ours has the word that headers from before Linux 6.3 lack.
 */
#include "perf.h"

/* Nobody here samples registers, and nobody asks for them. */
__u64 *cpci_perf_config3(struct perf_event_attr *attr)
{
	return &attr->sample_regs_intr;
}
