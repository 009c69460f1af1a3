/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* base.h - error messages and the clock, for all files of libpctx. */
#ifndef PCTXI_BASE_H
#define PCTXI_BASE_H

#include <errno.h>
#include <libpctx.h>
#include <stdint.h>

#define PCTXI_NSEC 1000000000LL /* nanoseconds per second */
#define PCTXI_MSEC 1000000LL	/* nanoseconds per millisecond */

/* The first argument of error functions: the public function's name without its prefix. */
#define PCTXI_FN_CREATE "create"
#define PCTXI_FN_CAPTURE "capture"
#define PCTXI_FN_RUN "run"
#define PCTXI_FN_SET_EVENTS "set_events"

/* Writes to stderr; for callers without an error function. */
pctx_errfn_t pctxi_default_errfn;

/* Calls `errfn`; keeps errno. */
__attribute__((format(printf, 3, 4))) void pctxi_error(pctx_errfn_t *errfn, const char *fn,
						       const char *fmt, ...);

/* Sets errno; returns -1. */
static inline int pctxi_errno(int err)
{
	errno = err;
	return -1;
}

int64_t pctxi_now_ns(void); /* CLOCK_MONOTONIC */

#endif /* PCTXI_BASE_H */
