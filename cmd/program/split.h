/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * split.h - splits a spec that needs too many counters into sets that take turns (--split).
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "../base/setgrp.h"

/*
 * Can all requests of a set be counted together?  The function binds the set to find out; the last
 * message of libcpc is the reason.  `alone`: the set has a single request.
 */
struct split_trial {
	bool (*counts)(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone);
	void *arg;
};

/*
 * Adds the set of a -c.  If `trial` is not NULL, splits events that cannot be counted together into
 * several sets, and reports that.  Each event goes to the first set with room for it.  Returns as
 * setgrp_add_spec().
 */
int split_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug,
	      const struct split_trial *trial);

/*
 * Reports why a set cannot be bound, in the words of libcpc, and advises --split if that would
 * help. Returns the exit status.
 */
int split_refuse(cpc_t *cpc, const struct setgrp_set *set, const struct split_trial *trial);

/* Reports the sets that never counted; if a spec was split, how much of the time each counted. */
void split_report_shares(const struct setgrp *grp);

#endif /* SPLIT_H */
