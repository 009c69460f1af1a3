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
 * Finds the online CPUs in our affinity mask that can count all sets, and reports how many cannot.
 * Exits with a message if there are none.
 */
struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp);

/*
 * For struct split_trial; `arg` is a struct cpus.  If only some CPUs can count a single event
 * (`alone`), it removes the others.
 */
bool cpus_count(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone);

#endif /* CPUS_H */
