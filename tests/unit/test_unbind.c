/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Sets with overflow signals that another LWP unbinds.
 */
#include "faults.h"
#include "handle.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define PERIOD 10
#define PRESET (UINT64_MAX - PERIOD + 1)
#define PAGES 64 /* several overflows, if the set is restarted; else one */
#define SURE 8	 /* one of so many rounds overflows for sure, however slow page faults are */

static cpc_set_t *set;
static volatile sig_atomic_t signals;
static atomic_bool bound, overflowed, ends;

static void on_emt(int sig)
{
	(void)sig;
	signals++;
}

static int setup(void **state)
{
	const struct sigaction act = {.sa_handler = on_emt};

	if (open_handle(state) == -1)
		return -1;
	set = cpc_set_create(cpc);
	signals = 0;
	if (cpc_set_add_request(cpc, set, "page-faults", PRESET,
				CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL) != 0)
		return -1;
	return sigaction(SIGEMT, &act, NULL);
}

static void *unbind_once(void *failed)
{
	return cpc_unbind(cpc, set) == 0 ? NULL : failed;
}

/* A pending signal of the old set is not taken for one of the next set. */
static void pending(void **state)
{
	uint64_t requests = 1;
	sigset_t all, old;
	pthread_t thread;
	void *failed;

	(void)state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	touch(PAGES);
	assert_int_equal(pthread_create(&thread, NULL, unbind_once, &failed), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	cpc_set_request_preset(cpc, set, 0, 0); /* it does not overflow now */
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_int_equal(cpc_set_overflowed(cpc, set, &requests), 0);
	assert_int_equal(requests, 0);
	assert_int_equal(signals, 0);
}

static void *unbind_often(void *arg)
{
	unsigned delay = 0;
	void *failed = NULL;

	while (!ends) {
		if (!bound) {
			sched_yield();
			continue;
		}
		delay = (delay * 5 + 3) % 4096; /* another instant each time */
		while (delay % SURE == 0 && !overflowed)
			sched_yield();
		for (volatile unsigned i = 0; i < delay; i++)
			;
		if (cpc_unbind(cpc, set) == -1)
			failed = arg;
		bound = false;
	}
	return failed;
}

/* At any instant, also while the library handles an overflow; mainly for the sanitizers. */
static void any_instant(void **state)
{
	pthread_t thread;
	/* The emulated machine has one CPU, and is slow. */
	unsigned rounds = sysconf(_SC_NPROCESSORS_ONLN) == 1 ? 200 : 2000;
	void *failed;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, unbind_often, &failed), 0);
	for (unsigned i = 0; i < rounds; i++) {
		assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
		overflowed = false;
		bound = true;
		touch(PAGES);
		sched_yield(); /* ThreadSanitizer runs handlers at calls */
		overflowed = true;
		while (bound)
			sched_yield();
		assert_int_equal(cpc_unbind(cpc, set), -1);
	}
	ends = true;
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_in_range(signals, rounds / SURE, rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pending, setup, close_handle),
		cmocka_unit_test_setup_teardown(any_instant, setup, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
