/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* error.c - passes errors to the error handler. */
#include "set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void default_errhndlr(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)subcode;
	fprintf(stderr, "libcpc: %s: ", fn);
	vfprintf(stderr, fmt, ap);
}

/*
 * A variadic wrapper, because the handler takes a va_list.  As on Solaris, messages end in a
 * newline.
 */
static void report(cpc_t *cpc, const char *fn, int subcode, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(cpc->errhndlr != NULL ? cpc->errhndlr : default_errhndlr)(fn, subcode, fmt, ap);
	va_end(ap);
}

int cpci_fail(cpc_t *cpc, const char *fn, const struct cpci_diag *diag)
{
	errno = diag->err;
	report(cpc, fn, diag->subcode, "%s\n", diag->text);
	return cpci_errno(diag->err);
}

int cpci_failf(cpc_t *cpc, const char *fn, int err, int subcode, const char *fmt, ...)
{
	struct cpci_diag diag = {.err = err, .subcode = subcode};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(diag.text, sizeof(diag.text), fmt, ap);
	va_end(ap);
	return cpci_fail(cpc, fn, &diag);
}

int cpci_fail_nomem(cpc_t *cpc, const char *fn)
{
	return cpci_failf(cpc, fn, ENOMEM, 0, "%s", strerror(ENOMEM));
}

void cpci_warn(cpc_t *cpc, const char *fn, const char *text)
{
	int err = errno;

	report(cpc, fn, CPC_WARNING, "%s\n", text);
	errno = err;
}
