/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpus.h - which CPUs are counted.
 */
#ifndef CPUS_H
#define CPUS_H

#include "../common/setgrp.h"

struct cpus {
	size_t n;
	int *id; /* ascending */
};

/*
 * Finds the CPUs that are online, in our affinity mask and able to count all sets, and
 * reports how many cannot count them.  Exits when there is none or the mask is unknown.
 */
struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp);

#endif /* CPUS_H */
