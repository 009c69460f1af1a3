/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setgrp.h - the sets of a run, one per -c or several with --split.  They take turns.
 */
#ifndef SETGRP_H
#define SETGRP_H

#include "spec.h"

#include <libcpc.h>
#include <sys/stat.h>

struct setgrp_set {
	char *text; /* the argument of -c, or a part of it */
	struct spec spec;
	cpc_set_t *set;	   /* duplicated for each LWP or CPU */
	bool system_only;  /* all requests count only in kernel mode */
	bool symbols;	   /* some request has a symbol of a process */
	bool file_symbols; /* some request has a symbol of a file */
	/* Known at the end of a run: */
	bool had_turn;	  /* it had a turn with known counts */
	uint64_t cycles;  /* the length of its turns */
	uint64_t counted; /* bit i: event i was not always 0 */
};

struct setgrp {
	bool functions; /* the program can count calls of functions */
	bool split;	/* some sets are parts of one -c */
	bool times;	/* cycles are needed: they show how long sets counted */
	size_t nratios; /* used in specs */
	struct setgrp_ratio {
		char *name;
		cpc_ratio_t *ratio;
	} * ratio;
	size_t n;
	struct setgrp_set *set;
};

/*
 * Parses a spec, with the events of its ratios.  Invalid events are not yet refused.  Returns the
 * exit status.
 */
int setgrp_parse(struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec);
/* Makes a set.  NULL: libcpc refused request `*bad`. */
cpc_set_t *setgrp_make(cpc_t *cpc, const struct spec *spec, size_t *bad);
/*
 * Adds the set of a parsed spec.  Owns or frees `text` and `spec`.  With `debug`, messages describe
 * its events.  Returns STATUS_OK, or the exit status after a message.
 */
int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug);

/* The number of events of all sets. */
unsigned setgrp_events(const struct setgrp *grp);

/* Is it a symbol of a file, "/path:symbol", in all processes that map the file? */
bool symbol_has_path(const char *symbol);
/* The path in such a symbol, which the caller frees, and the file's status.  NULL: no such file. */
char *symbol_file(const char *symbol, struct stat *st);

/* Reports, once, which clones of functions a bound set counts with them. */
void setgrp_report_clones(cpc_t *cpc, const struct setgrp_set *set, const cpc_set_t *bound);

/* A ratio in the specs of the group; NULL: there is no such ratio. */
const cpc_ratio_t *setgrp_ratio(const struct setgrp *grp, const char *name);

void setgrp_free(struct setgrp *grp);

#endif /* SETGRP_H */
