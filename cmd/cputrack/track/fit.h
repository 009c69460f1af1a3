/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fit.h - what can be counted in the kernel, and from which column of a slot it comes.
 */
#ifndef FIT_H
#define FIT_H

#include "../../../liblwps/lwps.h"
#include "engine.h"

/* One column for each counter of the set, and at last the time on a CPU. */
struct fit {
	unsigned ncounters, ncolumns;
	unsigned clock; /* index of that column */
	enum lwps_kind kind[LWPS_MAX_COLUMNS];
};

/* False: `why` it cannot count this, at least not as truly as ptrace(2) makes it. */
bool fit_find(struct fit *fit, cpc_t *cpc, const struct setgrp *grp, char *why, size_t size);

#endif /* FIT_H */
