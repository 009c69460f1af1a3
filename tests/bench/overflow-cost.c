/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflow-cost LIBRARY PERIOD N - N overflows of page faults, in each of which a handler counts.
 *
 * LIBRARY is ours or none (just the faults); papi in overflow-cost-papi, which does not contain the
 * other.  Prints nanoseconds per overflow.  The loop is between two SIGUSR1, for steps.
 */
#include <err.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef USE_PAPI
#include <papi.h>
#else
#include <libcpc.h>
#endif

#define PAGES 1000UL

static volatile unsigned long overflows;
#ifdef USE_PAPI
static void on_papi(int events, void *pc, long long which, void *context)
{
	(void)events;
	(void)pc;
	(void)which;
	(void)context;
	overflows++;
}

static void start(int period)
{
	int events = PAPI_NULL, code, rc;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		errx(1, "PAPI_library_init");
	rc = PAPI_event_name_to_code("perf::PAGE-FAULTS", &code);
	if (rc == PAPI_OK)
		rc = PAPI_create_eventset(&events);
	if (rc == PAPI_OK)
		rc = PAPI_add_event(events, code);
	if (rc == PAPI_OK)
		rc = PAPI_overflow(events, code, period, 0, on_papi);
	if (rc == PAPI_OK)
		rc = PAPI_start(events);
	if (rc != PAPI_OK) {
		fprintf(stderr, "skipped: PAPI: %s\n", PAPI_strerror(rc));
		exit(77);
	}
}
#else
static cpc_t *cpc;
static cpc_set_t *set;

static void on_emt(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	overflows++;
	cpc_set_restart(cpc, set);
}

static void start(int period)
{
	const struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO};

	sigaction(SIGEMT, &act, NULL);
	cpc = cpc_open(CPC_VER_CURRENT);
	set = cpc != NULL ? cpc_set_create(cpc) : NULL;
	if (set == NULL ||
	    cpc_set_add_request(cpc, set, "page-faults", 0 - (uint64_t)period,
				CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL) == -1 ||
	    cpc_bind_curlwp(cpc, set, 0) == -1)
		exit(1);
}
#endif

static void touch(volatile char *mem, unsigned long n)
{
	while (n > 0) {
		unsigned long some = n < PAGES ? n : PAGES;

		madvise((void *)(uintptr_t)mem, PAGES * 4096, MADV_DONTNEED);
		for (unsigned long i = 0; i < some; i++)
			mem[i * 4096] = 1;
		n -= some;
	}
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char *argv[])
{
	int period = argc == 4 ? atoi(argv[2]) : 0, n = argc == 4 ? atoi(argv[3]) : 0;
	double from, spent;
	char *mem;

	if (period <= 0 || n <= 0)
		errx(2, "usage: overflow-cost ours|none|papi PERIOD N");
	signal(SIGUSR1, SIG_IGN);
	mem = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		err(1, "mmap");
	madvise(mem, PAGES * 4096, MADV_NOHUGEPAGE);
	touch(mem, PAGES);
	if (strcmp(argv[1], "none") != 0)
		start(period);
	touch(mem, 2 * (unsigned long)period); /* PAPI begins a little later; all code is there */
	overflows = 0;
	from = now_ns(); /* outside: the vDSO may read the clock more than once */
	raise(SIGUSR1);
	touch(mem, (unsigned long)n * (unsigned long)period);
	raise(SIGUSR1);
	spent = now_ns() - from;
	if (strcmp(argv[1], "none") != 0 && overflows != (unsigned long)n)
		errx(1, "%lu overflows, not %d", overflows, n);
	printf("%.0f\n", spent / n);
	return 0;
}
