/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region.h - count events in regions of a program, by LWP, and tell them when it exits.
 *
 *	CPC_REGION("parse", "instructions,page-faults") {
 *		parse(file);
 *	}
 *
 * All of it is in headers, in C and C++; nothing but libcpc is linked.  The environment
 * says what becomes of it: CPC_REGIONS=off, table, json, table:FILE or json:FILE.  An
 * extension: see cpc_region(3).
 */
#ifndef CPC_REGION_H
#define CPC_REGION_H

#include <cpc_region/count.h>

/* Around a block, which `break` and `continue` leave. */
#define CPC_REGION(name, events) \
	CPC_REGION_FOR_(CPC_REGION_PASTE_(cpc_region_, __COUNTER__), name, events)

/* From here to the end of the enclosing block. */
#define CPC_REGION_SCOPE(name, events)                                      \
	struct cpc_region_scope CPC_REGION_PASTE_(cpc_region_, __COUNTER__) \
		__attribute__((cleanup(cpc_region_leave), unused)) =        \
			cpc_region_enter(CPC_REGION_SITE_(name, events))

/* From here to CPC_REGION_END of that name, in the same LWP. */
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

static inline struct cpc_region_scope cpc_region_enter(struct cpc_region_site *site)
{
	struct cpc_region_scope scope = {NULL, 1};

	if (!cpc_region_off && cpc_region_enter_slow(site))
		scope.site = site;
	return scope;
}

static inline void cpc_region_leave(struct cpc_region_scope *scope)
{
	if (scope->site != NULL)
		cpc_region_end(scope->site->name);
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_H */
