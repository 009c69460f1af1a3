/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_ratio.h - ratios of counts, as event definitions have them; a part of libcpc.h.
 */
#ifndef CPC_RATIO_H
#define CPC_RATIO_H

#include <cpc_types.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Extension.  A ratio, such as "instructions / cycles", is no event: it is computed from what
 * its events counted in a set, in one LWP or added up over many.  Ratios themselves are not
 * added up: that of a total is computed from the total's counts.
 *
 * It is an expression of events, decimal constants, + - * / and parentheses, with blanks
 * around all but parentheses.  None of these calls needs a set or a buffer.
 */
typedef struct cpc_ratio cpc_ratio_t;

/*
 * The ratio that event definitions know by a name, for which cpc_set_add_request() fails
 * with CPC_IS_RATIO.  Ratios that it is made of are replaced by what they stand for.  NULL
 * and errno: EINVAL (CPC_INVALID_EVENT: no such ratio, or a malformed one), ENOMEM, or
 * those of cpc_walk_events_desc().  cpc_ratio_free() frees it.
 */
cpc_ratio_t *cpc_ratio_find(cpc_t *cpc, const char *name);

/* The ratio of an expression of events alone.  NULL and errno: EINVAL (malformed), ENOMEM. */
cpc_ratio_t *cpc_ratio_parse(const char *text);

void cpc_ratio_free(cpc_ratio_t *ratio);

/* The expression, of events alone, which cpc_ratio_parse() takes. */
const char *cpc_ratio_text(const cpc_ratio_t *ratio);

/* Its events, each once, as cpc_set_add_request() takes them; NULL: no such index. */
uint_t cpc_ratio_nevents(const cpc_ratio_t *ratio);
const char *cpc_ratio_event(const cpc_ratio_t *ratio, uint_t index);

/*
 * The value for a count of each event, by index.  Not a number (isnan(3)) if it divides by 0,
 * as 0 / 0 does, or is out of range.  Safe in signal handlers.
 */
double cpc_ratio_value(const cpc_ratio_t *ratio, const long double *count);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* CPC_RATIO_H */
