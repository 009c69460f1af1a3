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
 * Those that are online, allowed to us and able to count all sets; says which ones are
 * left out for the last reason.  Ends the program when it cannot tell, or when there is
 * none.
 */
struct cpus cpus_find(cpc_t *cpc, const struct setgrp *grp);

#endif /* CPUS_H */
