/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* diag.c - the description of an error. */
#include "diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cpci_diag(struct cpci_diag *diag, int err, int subcode, const char *fmt, ...)
{
	va_list ap;

	diag->err = err;
	diag->subcode = subcode;
	va_start(ap, fmt);
	vsnprintf(diag->text, sizeof(diag->text), fmt, ap);
	va_end(ap);
	return -1;
}

int cpci_diag_nomem(struct cpci_diag *diag)
{
	return cpci_diag(diag, ENOMEM, 0, "%s", strerror(ENOMEM));
}
