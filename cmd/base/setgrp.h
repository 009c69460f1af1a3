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
	char *text; /* the argument of -c, or the part of it */
	struct spec spec;
	cpc_set_t *set;	  /* duplicated for each LWP or CPU */
	bool system_only; /* all requests count kernel mode only */
	bool symbols;	  /* some request names a symbol of a process */
	uint64_t cycles;  /* for which it has counted, in the end */
};

struct setgrp {
	bool functions; /* calls of functions of programs can be counted */
	bool split;	/* some sets are parts of one -c */
	size_t nratios; /* those that specs name */
	struct setgrp_ratio {
		char *name;
		cpc_ratio_t *ratio;
	} * ratio;
	size_t n;
	struct setgrp_set *set;
	unsigned ncols;			 /* one column per slot that some set uses */
	unsigned col[SPEC_MAX_SLOT + 1]; /* the numbers of the slots, ascending */
};

/*
 * Adds the set of a -c; with `debug`, prints how its events were found to stderr.
 * Returns 0, or the exit status after a message on stderr.
 */
int setgrp_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug);

/* The steps of that: the requests of a -c, with those of its ratios, be they wrong, ... */
int setgrp_parse_ratios(struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec);
/* ... a set of them, or NULL, and which was refused, ... */
cpc_set_t *setgrp_make(cpc_t *cpc, const struct spec *spec, size_t *bad);
/* ... and that set in the group, which gets `text` and `spec`, or frees them. */
int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug);

/* Is the symbol that of a file, "/path:symbol", whoever has it mapped? */
bool names_file(const char *symbol);

/* The ratio that specs of the group call `name`; or NULL. */
const cpc_ratio_t *setgrp_ratio(const struct setgrp *grp, const char *name);

void setgrp_free(struct setgrp *grp);

#endif /* SETGRP_H */
