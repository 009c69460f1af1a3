/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tick.c - from the time that a set was on the hardware to cycles of the CPU's
 * clock: the time-stamp counter on x86.
 */
#include "cpc_impl.h"

#include <time.h>

#define NSEC 1000000000ULL

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t hz = NSEC; /* where nothing is known a cycle is a nanosecond; set once */

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>

static uint64_t ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * NSEC + (uint64_t)ts.tv_nsec;
}

/*
 * The kernel's scale (perf_event_open(2), cap_user_time) is missing in most
 * virtual machines, and CPUID does not tell either, so measure: 20 ms suffice for
 * a few parts in 100,000.
 */
static void measure(void)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	uint64_t ns0 = ns(), tsc0 = __rdtsc(), ns1, tsc1;

	nanosleep(&pause, NULL);
	ns1 = ns();
	tsc1 = __rdtsc();
	if (ns1 > ns0 && tsc1 > tsc0)
		hz = (uint64_t)((unsigned __int128)(tsc1 - tsc0) * NSEC / (ns1 - ns0));
}
#else
static void measure(void)
{
}
#endif

uint64_t cpci_cycles(uint64_t time_ns)
{
	pthread_once(&once, measure);
	return (uint64_t)((unsigned __int128)time_ns * hz / NSEC);
}
