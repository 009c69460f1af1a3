/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * faults.h - cause a given number of page faults.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "unit.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096UL

/*
 * Touches `n` fresh pages: a fault in user mode each, and none of a sanitizer's own, which would
 * have memory of its own to touch for mmap(3).
 */
__attribute__((noinline, unused, no_sanitize("address"), no_sanitize("thread"))) static void
touch(size_t n)
{
	size_t size = (n + 1) * PAGE;
	long at = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	volatile char *p = (volatile char *)at;

	if (at == -1)
		_exit(99);
	syscall(SYS_madvise, at, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * PAGE] = 1;
	syscall(SYS_munmap, at, size);
}

#endif /* FAULTS_H */
