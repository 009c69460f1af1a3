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
	fputc('\n', stderr);
}

void cpc_seterrhndlr(cpc_t *cpc, cpc_errhndlr_t *errhndlr)
{
	cpc->errhndlr = errhndlr;
}

/* A variadic wrapper, because the handler takes a va_list. */
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
	report(cpc, fn, diag->subcode, "%s", diag->text);
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

int cpci_check_set(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	return set->cpc == cpc
		       ? 0
		       : cpci_failf(cpc, fn, EINVAL, 0, "the set was made with another handle");
}

int cpci_check_bound(cpc_t *cpc, const char *fn, const cpc_set_t *set)
{
	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	return set->bound != CPCI_UNBOUND ? 0
					  : cpci_failf(cpc, fn, EINVAL, 0, "the set is not bound");
}

void cpci_warn(cpc_t *cpc, const char *fn, const char *text)
{
	int err = errno;

	report(cpc, fn, CPC_WARNING, "%s", text);
	errno = err;
}
