/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * function-calls N [THREADS] - calls the function hit() N times, and again in each of THREADS
 * threads, one after the other.  function-calls without operands prints where hit() and the
 * variable `stored` are, which hit() writes once per call.  Not position-independent,
 * so that they are always there.
 */
#include "work.h"

#include <stdint.h>

static volatile int stored;

__attribute__((noinline)) static void hit(void)
{
	stored = 1;
	__asm__ volatile("" ::: "memory");
}

static void *hit_often(void *arg)
{
	for (long n = *(const long *)arg; n > 0; n--)
		hit();
	return NULL;
}

int main(int argc, char *argv[])
{
	long n;

	if (argc < 2) {
		printf("%#lx %#lx\n", (unsigned long)(uintptr_t)&hit,
		       (unsigned long)(uintptr_t)&stored);
		return 0;
	}
	n = number(argv[1]);
	hit_often(&n);
	for (long threads = argc > 2 ? number(argv[2]) : 0; threads > 0; threads--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, hit_often, &n) != 0)
			broken("pthread_create");
		pthread_join(thread, NULL);
	}
	return 0;
}
