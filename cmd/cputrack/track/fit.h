/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fit.h - what can be counted in the kernel, and from which column of a slot it comes.
 */
#ifndef FIT_H
#define FIT_H

#include "../../../liblwps/lwps.h"
#include "engine.h"

/* One column for each counter that is open, and at last the time on a CPU. */
struct fit {
	unsigned ncounters; /* of the set */
	unsigned ncolumns;
	enum lwps_kind kind[LWPS_MAX_COLUMNS];
	unsigned counter[LWPS_MAX_COLUMNS]; /* by column, but the last */
};

/*
 * Finds the columns of each set.  NULL: `why` it cannot count this, at least not as truly as
 * ptrace(2) makes it.
 */
struct fit *fit_find(cpc_t *cpc, const struct setgrp *grp, char *why, size_t size);

/* Leaves out what `bound` has no counter for: places that a probe has not in its file. */
void fit_leave_out(struct fit *fit, cpc_t *cpc, const cpc_set_t *bound);

/* The counts of the counters from those of the set's columns. */
void fit_counts(const struct fit *fit, const uint64_t *column, uint64_t *counter);

#endif /* FIT_H */
