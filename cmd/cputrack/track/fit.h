/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fit.h - which events the kernel engine can count, and in which columns of its slots.
 */
#ifndef FIT_H
#define FIT_H

#include "../../../liblwps/lwps.h"
#include "engine.h"

/*
 * A column for each open counter of the set; for a function, one for all its places.  The last
 * column has the CPU time; or, if the output does not show that, LWPS_SLICE_NS for each slice,
 * which is cheaper.
 */
struct fit {
	bool times;	    /* the last column has the CPU time */
	unsigned ncounters; /* of the set, open or not */
	unsigned ncolumns;
	enum lwps_kind kind[LWPS_MAX_COLUMNS];
	/* The first counter of each column but the last; the next ones are of the same function. */
	unsigned counter[LWPS_MAX_COLUMNS], n[LWPS_MAX_COLUMNS];
};

/* The counters of a set, which the caller frees, and their number. */
struct cpc_counter *fit_counters(cpc_t *cpc, const cpc_set_t *set, unsigned *n);

/*
 * Finds the columns of each set.  NULL: the kernel engine cannot count this as exactly as the
 * ptrace engine; `why` says why.
 */
struct fit *fit_find(cpc_t *cpc, const struct setgrp *grp, char *why, size_t size);

/* Removes the columns of functions that are missing in their files: `bound` has no counter. */
void fit_leave_out(struct fit *fit, cpc_t *cpc, const cpc_set_t *bound);

/* Converts counts by column to counts by counter; those without a column are 0. */
void fit_counts(const struct fit *fit, const uint64_t *column, uint64_t *counter);

#endif /* FIT_H */
