/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probes N [THREADS] - fire probes as those of sys/sdt.h N times, and again in each of THREADS
 * threads, one after the other.
 *
 * Known: cpc:twice stands in two places, and fires N times in each; cpc:guarded fires N
 * times, and only while its semaphore is above 0.  cpc:never does not fire.
 */
#include "work.h"

#include <stdint.h>

#if __SIZEOF_POINTER__ == 8
#define WORD ".8byte "
#else
#define WORD ".4byte "
#endif

/* A note as systemtap's wiki describes it: address, base, semaphore; provider, name, operands. */
#define PROBE(name, semaphore)                                                \
	__asm__ volatile("990: nop\n"                                         \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"         \
			 ".balign 4\n"                                        \
			 ".4byte 992f-991f, 994f-993f, 3\n"                   \
			 "991: .asciz \"stapsdt\"\n"                          \
			 "992: .balign 4\n"                                   \
			 "993: " WORD "990b\n" WORD "0\n" WORD semaphore "\n" \
			 ".asciz \"cpc\"\n.asciz \"" name "\"\n.asciz \"\"\n" \
			 "994: .balign 4\n.popsection\n")

__attribute__((used, visibility("hidden"), section(".probes"))) volatile uint16_t cpc_semaphore;

__attribute__((noinline)) static void fire(void)
{
	PROBE("twice", "0");
	PROBE("twice", "0");
	if (cpc_semaphore > 0)
		PROBE("guarded", "cpc_semaphore");
}

static void *work(void *arg)
{
	for (long n = *(const long *)arg; n > 0; n--)
		fire();
	if (*(const long *)arg < 0)
		PROBE("never", "0");
	return NULL;
}

int main(int argc, char *argv[])
{
	long n = number(argc > 1 ? argv[1] : ""), threads = argc > 2 ? number(argv[2]) : 0;

	work(&n);
	for (; threads > 0; threads--)
		pthread_join(start_thread(work, &n), NULL);
	return 0;
}
