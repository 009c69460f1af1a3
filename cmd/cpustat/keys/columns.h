/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * columns.h - from which column of a slot the counts of a set come, when those of CPUs are divided.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "../../../liblwps/lwps.h"
#include "../../base/setgrp.h"

/* One column for each counter of the set, and at last the time on a CPU. */
struct columns {
	unsigned ncounters, n;
	unsigned clock; /* index of that column */
	enum lwps_kind kind[LWPS_MAX_COLUMNS];
};

/* False: `why` some event cannot be divided. */
bool columns_find(struct columns *columns, cpc_t *cpc, const struct setgrp_set *set, char *why,
		  size_t size);

#endif /* COLUMNS_H */
