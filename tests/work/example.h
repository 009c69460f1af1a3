/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * example.h - what the examples of the Solaris manuals leave to the reader.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "machine.h"
#include "work.h"

#include <stdarg.h>

static long example_pages = 100, example_loops;

/* Not that of error.h: it prints like printf(3) and exits. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* The computation to be measured. */
static inline void compute(void)
{
	unsigned long n = (unsigned long)example_loops;

	touch_pages(example_pages);
	if (n != 0)
		loop_rounds(n);
}

/* All that it runs is there afterwards: faults are those of its pages alone. */
static inline void prepare(int argc, char *const argv[])
{
	if (argc > 1)
		example_pages = number(argv[1]);
	if (argc > 2)
		example_loops = number(argv[2]);
	compute();
}

#endif /* EXAMPLE_H */
