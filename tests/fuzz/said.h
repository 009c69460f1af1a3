/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * said.h - messages are formatted and counted, not written.
 */
#ifndef SAID_H
#define SAID_H

#include "fuzz.h"

#include "../../cmd/base/say.h"

static int said; /* how many */

/* In place of say(); see --wrap of ld(1). */
void __wrap_say(const char *fmt, ...);

__attribute__((format(printf, 1, 2))) void __wrap_say(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	must(vsnprintf(text, sizeof(text), fmt, ap) > 0);
	va_end(ap);
	said++;
}

#endif /* SAID_H */
