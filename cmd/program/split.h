/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * split.h - a spec that needs more counters than there are, as several that take turns.
 */
#ifndef SPLIT_H
#define SPLIT_H

#include "../base/setgrp.h"

/*
 * Can all requests of a set be counted together?  It is bound to find out; libcpc's last message
 * says why not.  Of a set of a single request, `alone`, that is asked first.
 */
struct split_trial {
	bool (*counts)(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone);
	void *arg;
};

/*
 * As setgrp_add(), but events that cannot be counted together become sets that take turns,
 * each event in the first one that has room for it; that is told.
 */
int split_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug,
	      const struct split_trial *trial);

/*
 * Tells that a set cannot be bound, in libcpc's words, and --split if that would help.  Returns
 * the exit status.
 */
int split_refuse(cpc_t *cpc, const struct setgrp_set *set, const struct split_trial *trial);

/* Tells how much of the time each set counted, if some are parts of a spec. */
void split_tell_shares(const struct setgrp *grp);

#endif /* SPLIT_H */
