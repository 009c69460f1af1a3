/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols-lib.c - the library of symbols.c; see there.
 */
#include "symbols-lib.h"

__attribute__((noinline)) static void twin(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void lib_called(void)
{
	twin();
	__asm__ volatile("" ::: "memory");
}

__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < 7; i++)
		lib_called();
}

__attribute__((used)) static void (*choose(void))(void)
{
	return lib_called;
}

void chosen(void) __attribute__((ifunc("choose")));
