/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * entries-lib.c - the library of entries.c: power() has an old and a new version, same()
 * two versions that are one function.
 */
#include "entries.h"

FUNCTION(extern, power_old, "power_old")
FUNCTION(extern, power_new, "power_new")
FUNCTION(extern, power_same, "power_same")

/* In a function, so that Clang has seen the others. */
__attribute__((used)) static void versions(void)
{
	__asm__ volatile(".symver power_old,power@V1\n"
			 ".symver power_new,power@@V2\n"
			 ".symver power_same,same@V1\n"
			 ".symver power_same,same@@V2\n");
}
