/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * unit.h - cmocka and the headers it wants before it; an error handler; reasons for skips.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <libcpc.h>
#include <stdio.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* scripts/check lists the lines that begin so. */
#define skip_because(...)                               \
	do {                                            \
		print_message("skipped: " __VA_ARGS__); \
		print_message("\n");                    \
		skip();                                 \
	} while (0)

/* What the error handler was told last, and how often it was called. */
static struct {
	unsigned calls;
	int subcode;
	char fn[64], text[1200];
} last_error;

/* An error handler for cpc_seterrhndlr(3). */
__attribute__((format(printf, 3, 0))) static inline void hear(const char *fn, int subcode,
							      const char *fmt, va_list ap)
{
	last_error.calls++;
	last_error.subcode = subcode;
	snprintf(last_error.fn, sizeof(last_error.fn), "%s", fn);
	vsnprintf(last_error.text, sizeof(last_error.text), fmt, ap);
	errno = 0; /* the caller sees the library's errno, whatever a handler does to it */
}

#endif /* UNIT_H */
