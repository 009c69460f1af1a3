/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * What SIGCHLD does while threads of a process have handles of libpctx.
 */
#include "unit.h"

#include <libpctx.h>
#include <pthread.h>
#include <signal.h>

static bool chld_is(void (*handler)(int))
{
	struct sigaction act;

	return sigaction(SIGCHLD, NULL, &act) == 0 && act.sa_handler == handler;
}

static void *hold_handle(void *arg)
{
	pthread_barrier_t *barrier = arg;
	pctx_t *pctx = pctx_open(NULL, NULL);

	assert_non_null(pctx);
	pthread_barrier_wait(barrier); /* both have one */
	pthread_barrier_wait(barrier); /* the other one's is released */
	pctx_release(pctx);
	return NULL;
}

/* SIGCHLD is as it was once the handles of all threads are gone, and not before. */
static void sigchld_of_two(void **state)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	pctx_t *pctx;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, hold_handle, &barrier), 0);
	pctx = pctx_open(NULL, NULL);
	assert_non_null(pctx);
	pthread_barrier_wait(&barrier);
	pctx_release(pctx);
	assert_true(chld_is(SIG_DFL));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	assert_true(chld_is(SIG_IGN));
	pthread_barrier_destroy(&barrier);
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sigchld_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
