/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpus.h - which CPUs are counted.
 */
#ifndef CPUS_H
#define CPUS_H

#include "../base/setgrp.h"

#include <stdbool.h>

struct cpus {
	size_t n;
	int *id; /* ascending */
};

/*
 * Finds the CPUs that are online, in our affinity mask and able to count all sets, and
 * reports how many cannot count them.  Exits when there is none or the mask is unknown.
 */
struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp);

/*
 * For struct split_trial: `arg` are struct cpus, of which those go that cannot count an event
 * alone, unless none can.
 */
bool cpus_count(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone);

#endif /* CPUS_H */
