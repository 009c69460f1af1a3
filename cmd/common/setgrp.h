/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setgrp.h - the sets of a run, one per -c, which take turns.
 */
#ifndef SETGRP_H
#define SETGRP_H

#include "spec.h"

#include <libcpc.h>

struct setgrp_set {
	const char *text; /* as the user wrote it */
	struct spec spec;
	cpc_set_t *set;	  /* to be duplicated for whatever is counted */
	bool system_only; /* all requests: nouser, sys */
	bool symbols;	  /* some request names a symbol */
};

struct setgrp {
	size_t n;
	struct setgrp_set *set;
	unsigned ncols;			 /* columns: the slots of all sets together */
	unsigned col[SPEC_MAX_SLOT + 1]; /* their numbers, ascending */
};

/*
 * Adds the spec of a -c; with `debug`, tells on stderr how its events were found.
 * Returns 0, or the exit status after a message on stderr.
 */
int setgrp_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug);

/* Which request of a set has slot `slot`, or -1. */
int setgrp_request(const struct setgrp_set *set, unsigned slot);

void setgrp_free(struct setgrp *grp);

#endif /* SETGRP_H */
