/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * base.h - what every file of libpctx may use: error messages and the clock.
 */
#ifndef PCTXI_BASE_H
#define PCTXI_BASE_H

#include <libpctx.h>
#include <stdint.h>

#define PCTXI_NSEC 1000000000LL /* nanoseconds in a second */
#define PCTXI_MSEC 1000000LL	/* and in a millisecond */

/* The first argument of error handlers: the public function without its prefix. */
#define PCTXI_FN_CREATE "create"
#define PCTXI_FN_CAPTURE "capture"
#define PCTXI_FN_RUN "run"
#define PCTXI_FN_SET_EVENTS "set_events"

/* Writes to stderr; used when the caller gives no error handler. */
pctx_errfn_t pctxi_default_errfn;

/* Calls `errfn`; errno stays as it is. */
__attribute__((format(printf, 3, 4))) void pctxi_error(pctx_errfn_t *errfn, const char *fn,
						       const char *fmt, ...);

int64_t pctxi_now_ns(void); /* CLOCK_MONOTONIC */

#endif /* PCTXI_BASE_H */
