/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sched.h - the events of the scheduler, which BPF programs count.
 */
#ifndef SCHED_EVENTS_H
#define SCHED_EVENTS_H

#include "../../libcpc/set/counter.h"
#include "../base/setgrp.h"

/*
 * The events of the scheduler in the sets: bits CPC_SCHED_BIT().  `*name`, unless NULL: the first
 * such event of a spec.
 */
unsigned sched_events_of(const struct setgrp *grp, cpc_t *cpc, const char **name);

#endif /* SCHED_EVENTS_H */
