/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * faults.h - page faults, as many as are wanted.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "unit.h"

#include <sys/mman.h>

#define PAGE 4096UL

/* Touches `n` fresh pages: a fault in user mode each, and none of a sanitizer's own. */
__attribute__((noinline, unused, no_sanitize("address"))) static void touch(size_t n)
{
	volatile char *p;

	p = mmap(NULL, (n + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		_exit(99);
	madvise((void *)(uintptr_t)p, (n + 1) * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * PAGE] = 1;
	munmap((void *)(uintptr_t)p, (n + 1) * PAGE);
}

#endif /* FAULTS_H */
