/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Copyright (c) 2026 The cpc authors */
/* fakepmu.h - what the files of the module share. */
#ifndef FAKEPMU_H
#define FAKEPMU_H

#include <linux/types.h>

struct perf_event;
struct perf_sample_data;
struct pt_regs;

/* perf_event_overflow() of the kernel, which does not export it */
extern int (*fake_overflow)(struct perf_event *, struct perf_sample_data *, struct pt_regs *);

/* The PMUs of the cores.  An errno as a negative number, or 0. */
int cores_register(void);
void cores_unregister(void);
/* Lets `n` events happen on this CPU.  Between overflows interrupts are on. */
void cores_drive(u64 code, u64 n, bool user);
unsigned int cores_in_use(int cpu); /* counters */

/* The PMUs outside the cores. */
int boxes_register(void);
void boxes_unregister(void);
bool boxes_happen(unsigned int which, u64 code, u64 n); /* false: no such box or code */
int boxes_go_offline(unsigned int cpu);			/* moves their events to another CPU */

#endif
