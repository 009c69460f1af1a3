/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region.h - count events in regions of a program, by LWP, and report them when it exits.
 *
 *	CPC_REGION("parse", "instructions,page-faults") {
 *		parse(file);
 *	}
 *
 * For C and C++.  The environment variable CPC_REGIONS selects the report: off, table, json,
 * table:FILE or json:FILE.  An extension: see cpc_region(3).
 */
#ifndef CPC_REGION_H
#define CPC_REGION_H

/* Counts the block that follows; `break` and `continue` leave it. */
#define CPC_REGION(name, events) \
	CPC_REGION_FOR_(CPC_REGION_PASTE_(cpc_region_, __COUNTER__), name, events)

/* Counts from here to the end of the enclosing block. */
#define CPC_REGION_SCOPE(name, events)                                      \
	struct cpc_region_scope CPC_REGION_PASTE_(cpc_region_, __COUNTER__) \
		__attribute__((cleanup(cpc_region_leave), unused)) =        \
			cpc_region_enter(CPC_REGION_SITE_(name, events))

/* Counts from here to CPC_REGION_END of the same name, in the same LWP. */
#define CPC_REGION_BEGIN(name, events) ((void)cpc_region_enter(CPC_REGION_SITE_(name, events)))
#define CPC_REGION_END(name) (cpc_region_off ? (void)0 : cpc_region_end(name))

/* ---- nothing below is for programs ------------------------------------------------- */

#define CPC_REGION_PASTE_(a, b) CPC_REGION_PASTE2_(a, b)
#define CPC_REGION_PASTE2_(a, b) a##b
#define CPC_REGION_FOR_(var, name, events)                                            \
	for (struct cpc_region_scope var __attribute__((cleanup(cpc_region_leave))) = \
		     cpc_region_enter(CPC_REGION_SITE_(name, events));                \
	     var.once; var.once = 0)
#define CPC_REGION_SITE_(name, events)                                                   \
	__extension__({                                                                  \
		static struct cpc_region_site cpc_region_here = {"" name, "" events, 0}; \
		&cpc_region_here;                                                        \
	})

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the program that enters a region. */
struct cpc_region_site {
	const char *name, *events;
	struct cpci_region *region; /* NULL: not entered yet */
};

struct cpc_region_scope {
	struct cpc_region_site *site; /* NULL: not entered */
	int once;
};

#pragma GCC visibility push(default)

/* Not 0: nothing is counted, because CPC_REGIONS is off.  Set at the first entry of a region. */
extern int cpc_region_off;

/*
 * Enters the region of a site.  Returns 0 if it did not: regions are off, memory ran out, or a
 * signal interrupted these functions.  errno is kept.
 */
int cpc_region_begin(struct cpc_region_site *site);

/* Leaves the innermost region of that name; regions still open in it are not counted. */
void cpc_region_end(const char *name);

#pragma GCC visibility pop

static inline struct cpc_region_scope cpc_region_enter(struct cpc_region_site *site)
{
	struct cpc_region_scope scope = {(struct cpc_region_site *)0, 1};

	if (!cpc_region_off && cpc_region_begin(site))
		scope.site = site;
	return scope;
}

static inline void cpc_region_leave(struct cpc_region_scope *scope)
{
	if (scope->site)
		cpc_region_end(scope->site->name);
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_H */
