/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflow-kinds MODE - overflows of several kinds of events.
 *
 *   several   two requests, each of which overflows
 *   clock     the CPU time
 *   calls     system calls, by their tracepoint
 *
 * Known: PASS; each overflow is one signal, and its values are exact.
 */
#include "overflows.h"

#include <time.h>

/*
 * By turns, as their periods will have it, and both at once.  The fault at which one overflows is
 * not the other's where the kernel came to that one first: the interrupt is between the two.
 */
static void several(void)
{
	uint64_t which, told[4] = {0}, count[2];

	catch_emt(on_emt, 0);
	prepare(70);
	self.set = cpc_set_create(self.cpc);
	add("page-faults", PERIOD(70), CPC_OVF_NOTIFY_EMT);
	add("faults", PERIOD(100), CPC_OVF_NOTIFY_EMT);
	self.buf = cpc_buf_create(self.cpc, self.set);
	self.period = 0;
	self.stay = true;
	bind_set();
	for (int i = 0; i < 60; i++) {
		uint64_t first = (uint64_t)(i % 3 == 0 ? 30 : i % 3 == 1 ? 50 : 40);

		must(cpc_request_preset(self.cpc, 0, PERIOD(first)) == 0 &&
			     cpc_request_preset(self.cpc, 1, PERIOD(40)) == 0 &&
			     cpc_set_restart(self.cpc, self.set) == 0,
		     "cpc_set_restart");
		fault(60);
		must(cpc_set_overflowed(self.cpc, self.set, &which) == 0, "cpc_set_overflowed");
		told[which & 3]++;
		must_count((which & (first < 40 ? 1 : first > 40 ? 2 : 3)) != 0, "the nearer one");
		count[0] = value(0) - PERIOD(first);
		count[1] = value(1) - PERIOD(40);
		must_count(count[0] == count[1] || (which == 1 && count[0] - 1 == count[1]) ||
				   (which == 2 && count[0] == count[1] - 1),
			   "both are frozen");
	}
	must_have(60);
	must_count(told[0] == 0 && told[1] >= 20 && told[2] >= 20, "which overflowed");
	finish();
}

#define LEAST_CLOCK 100000 /* ns; shorter periods are refused */

static volatile uint64_t least = UINT64_MAX;

static void on_clock(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t val = 0;

	(void)sig;
	(void)info;
	(void)context;
	cpc_set_sample(self.cpc, self.set, self.buf);
	cpc_buf_get(self.cpc, self.buf, 0, &val);
	if (val < least)
		least = val;
	self.signals++;
	self.wrong += cpc_set_restart(self.cpc, self.set) == -1;
	errno = saved;
}

static void clocks(void)
{
	struct timespec spent;

	catch_emt(on_clock, 0);
	prepare(1000000);
	for (uint64_t period = LEAST_CLOCK; period <= 10000000; period *= 10) {
		self.set = cpc_set_create(self.cpc);
		add("task-clock", PERIOD(period), CPC_OVF_NOTIFY_EMT);
		self.buf = cpc_buf_create(self.cpc, self.set);
		if (cpc_bind_curlwp(self.cpc, self.set, 0) == -1) {
			must(errno == ENOTSUP, "only some kernels cannot");
			return;
		}
		self.signals = 0;
		do {
			for (volatile int i = 0; i < 100000; i++)
				;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
		} while (self.signals < 5);
		/* Never too early: it has counted so many, and wrapped. */
		must_count(self.wrong == 0 && least < UINT64_MAX / 2, "values");
		must(cpc_unbind(self.cpc, self.set) == 0, "cpc_unbind");
	}
	finish();
}

static void on_call(int sig, siginfo_t *info, void *context)
{
	uint64_t val = 1;

	(void)sig;
	(void)info;
	(void)context;
	self.signals++;
	if (cpc_set_sample(self.cpc, self.set, self.buf) == -1 ||
	    cpc_buf_get(self.cpc, self.buf, 0, &val) == -1 || val != 0 ||
	    cpc_set_restart(self.cpc, self.set) == -1)
		self.wrong++;
	do_chore(&(struct chore){.calls = 3}); /* counted, if it does not overflow now */
}

static void calls(void)
{
	catch_emt(on_call, 0);
	for (uint64_t period = 1; period <= 1000; period *= 10) {
		self.cpc = cpc_open(CPC_VER_CURRENT);
		self.set = cpc_set_create(self.cpc);
		self.buf = NULL;
		add("syscalls:sys_enter_getpriority", PERIOD(period), CPC_OVF_NOTIFY_EMT);
		self.buf = cpc_buf_create(self.cpc, self.set);
		bind_set();
		self.signals = self.wrong = 0;
		if (period > 3) {
			/* After the first, the handler makes three of each period itself. */
			do_chore(&(struct chore){.calls = (long)(period + 49 * (period - 3))});
			must_have(50);
		}
		finish();
	}
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"several", several},
		{"clock", clocks},
		{"calls", calls},
	};

	return RUN_MODE(modes, argc, argv);
}
