/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setgrp.h - the sets of a run, one per -c or several with --split.  They take turns.
 */
#ifndef SETGRP_H
#define SETGRP_H

#include "spec.h"

#include <libcpc.h>

struct setgrp_set {
	char *text; /* the argument of -c, or a part of it */
	struct spec spec;
	cpc_set_t *set;	  /* duplicated for each LWP or CPU */
	bool system_only; /* all requests count only in kernel mode */
	bool symbols;	  /* some request has a symbol of a process */
	bool had_turn;	  /* at the end: its counts are known, be they 0... */
	uint64_t cycles;  /* ...and of so much time */
};

struct setgrp {
	bool functions; /* the program can count calls of functions */
	bool split;	/* some sets are parts of one -c */
	size_t nratios; /* used in specs */
	struct setgrp_ratio {
		char *name;
		cpc_ratio_t *ratio;
	} * ratio;
	size_t n;
	struct setgrp_set *set;
};

/*
 * Adds the set of a -c.  With `debug`, messages describe its events.  Returns STATUS_OK, or the
 * exit status after a message.
 */
int setgrp_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug);

/*
 * Parses a spec, with the events of its ratios.  Invalid events are not yet refused.  Returns the
 * exit status.
 */
int setgrp_parse(struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec);
/* Makes a set.  NULL: libcpc refused request `*bad`. */
cpc_set_t *setgrp_make(cpc_t *cpc, const struct spec *spec, size_t *bad);
/* As setgrp_add(), for a parsed spec.  Owns or frees `text` and `spec`. */
int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug);

/* Is it a symbol of a file, "/path:symbol", in all processes that map the file? */
bool symbol_has_path(const char *symbol);

/* The ratio of that name in the specs of the group; or NULL. */
const cpc_ratio_t *setgrp_ratio(const struct setgrp *grp, const char *name);

void setgrp_free(struct setgrp *grp);

#endif /* SETGRP_H */
