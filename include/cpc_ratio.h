/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* cpc_ratio.h - ratios of counts, which event definitions can name; a part of libcpc.h. */
#ifndef CPC_RATIO_H
#define CPC_RATIO_H

#include <cpc_types.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Extension.  A ratio, such as "instructions / cycles", is not an event: it is computed from
 * the counts of its events in a set, for one LWP or summed over many.  Do not add ratios up:
 * compute that of a total from the total's counts.
 *
 * A ratio is an expression of events, decimal constants, + - * / and parentheses, with blanks
 * around everything but parentheses.  None of these calls needs a set or a buffer.
 */
typedef struct cpc_ratio cpc_ratio_t;

/* The kind of a name, for programs that parse lists of names. */
enum cpc_name {
	CPC_NAME_EVENT,	  /* an event; cpc_set_add_request() says what is wrong with it */
	CPC_NAME_RATIO,	  /* a ratio: see cpc_ratio_find() */
	CPC_NAME_UNKNOWN, /* neither, and no known name is similar */
};
enum cpc_name cpc_name_kind(cpc_t *cpc, const char *name);

/*
 * Finds the ratio `name` in the event definitions; cpc_set_add_request() fails for it with
 * CPC_IS_RATIO.  Ratios in its expression are replaced by their own expressions.  NULL and
 * errno: EINVAL (CPC_INVALID_EVENT: no such ratio, or a malformed one), ENOMEM, or those of
 * cpc_walk_events_desc().  cpc_ratio_free() frees the ratio.
 */
cpc_ratio_t *cpc_ratio_find(cpc_t *cpc, const char *name);

/* Makes a ratio from an expression of events.  NULL and errno: EINVAL (malformed), ENOMEM. */
cpc_ratio_t *cpc_ratio_parse(const char *text);

void cpc_ratio_free(cpc_ratio_t *ratio);

/* Returns the expression of events, as cpc_ratio_parse() accepts it. */
const char *cpc_ratio_text(const cpc_ratio_t *ratio);

/* The events of a ratio, each once, as cpc_set_add_request() accepts them; NULL: no such index. */
uint_t cpc_ratio_nevents(const cpc_ratio_t *ratio);
const char *cpc_ratio_event(const cpc_ratio_t *ratio, uint_t index);

/*
 * Computes the value from a count of each event, by index.  Returns a value that is not a number
 * (isnan(3)) if the ratio divides by 0, as in 0 / 0, or is out of range.  Safe in signal handlers.
 */
double cpc_ratio_value(const cpc_ratio_t *ratio, const long double *count);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* CPC_RATIO_H */
