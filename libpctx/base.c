/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* base.c - error messages, the clock, and the thread id. */
#include "base.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void pctxi_default_errfn(const char *fn, const char *fmt, va_list ap)
{
	fprintf(stderr, "libpctx: pctx_%s: ", fn);
	vfprintf(stderr, fmt, ap);
}

/* A variadic wrapper, because the handler takes a va_list. */
static void call(pctx_errfn_t *errfn, const char *fn, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	errfn(fn, fmt, ap);
	va_end(ap);
}

void pctxi_error(pctx_errfn_t *errfn, const char *fn, const char *fmt, ...)
{
	int saved = errno;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	call(errfn, fn, "%s\n", text);
	errno = saved;
}

int64_t pctxi_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * PCTXI_NSEC + ts.tv_nsec;
}

id_t _lwp_self(void)
{
	return (id_t)syscall(SYS_gettid);
}
