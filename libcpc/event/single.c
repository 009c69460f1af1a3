/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * single.c - an event that is one counter of the kernel, as most are.
 */
#include "event.h"

void cpci_event_single(struct cpci_event *event, const struct perf_event_attr *attr, uint_t flags)
{
	event->nterms = 1;
	event->term[0] = (struct cpci_term){.attr = *attr};
	cpci_perf_set_modes(&event->term[0].attr, flags);
}
