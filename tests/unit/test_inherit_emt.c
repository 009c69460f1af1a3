/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * CPC_BIND_LWP_INHERIT with CPC_OVF_NOTIFY_EMT: an LWP gets a signal at its birth, and then one
 * for each of its own overflows.
 */
#include "inherit.h"

#include <signal.h>
#include <string.h>

#define PERIOD 10
#define PRESET (UINT64_MAX - PERIOD + 1)

static _Thread_local struct {
	cpc_buf_t *buf;
	int births, overflows, wrong;
	bool stay; /* it does not restart */
} self;

static cpc_buf_t *bufs[32];
static atomic_uint nbufs; /* that are in use */

static void on_emt(int sig, siginfo_t *info, void *context)
{
	uint64_t val, requests = 1;
	int err = errno;

	(void)sig;
	(void)context;
	if (self.buf == NULL)
		self.buf = bufs[nbufs++];
	if (info->si_code != EMT_CPCOVF || cpc_set_sample(cpc, set, self.buf) == -1 ||
	    cpc_buf_get(cpc, self.buf, 0, &val) == -1 ||
	    cpc_set_overflowed(cpc, set, &requests) == -1)
		self.wrong++;
	else if (val == UINT64_MAX && requests == 0)
		self.births++;
	else if (val == 0 && requests == 1)
		self.overflows++;
	else
		self.wrong++;
	if (!self.stay &&
	    (cpc_request_preset(cpc, 0, PRESET) == -1 || cpc_set_restart(cpc, set) == -1))
		self.wrong++;
	errno = err;
}

static void *overflow(void *arg)
{
	struct job *job = arg;
	bool born = self.births == 1 && self.overflows == 0;
	int before;

	/* Count from here on, after the first calls of the library and the handler. */
	if (cpc_set_restart(cpc, set) == -1)
		return arg;
	before = self.overflows;
	touch(job->pages);
	job->last = (uint64_t)(self.overflows - before);
	return born && self.births == 1 && self.wrong == 0 ? NULL : arg;
}

static void catch_emt(void)
{
	const struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO};

	nbufs = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		bufs[i] = cpc_buf_create(cpc, set);
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	raise(SIGEMT);
	memset(&self, 0, sizeof(self));
}

static void emt_at_birth(void **state)
{
	(void)state;
	skip_under_tsan("keeps signals");
	add("page-faults", UINT64_MAX - (1 << 30), CPC_OVF_NOTIFY_EMT);
	add("faults", 0, 0);
	catch_emt();
	bind(0);
	for (size_t i = 0; i < 20; i++) {
		jobs[i] = (struct job){.pages = 40 + PERIOD * i + 5};
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, overflow, &jobs[i]), 0);
	}
	for (size_t i = 0; i < 20; i++) {
		finish(&jobs[i]);
		assert_count(jobs[i].last, 4 + i);
	}
	assert_int_equal(self.births + self.overflows + self.wrong, 0);
}

/* Until it is restarted, a new LWP counts nothing, and the signal waits until it can come. */
static void *begin_blocked(void *arg)
{
	struct job *job = arg;
	sigset_t emt;

	job->first = sample(job->buf);
	touch(100);
	job->last = sample(job->buf);
	if (self.births != 0 || job->first != UINT64_MAX || job->last != UINT64_MAX)
		return arg;
	self.stay = true;
	sigemptyset(&emt);
	sigaddset(&emt, SIGEMT);
	pthread_sigmask(SIG_UNBLOCK, &emt, NULL);
	if (self.births != 1 || sample(job->buf) != UINT64_MAX)
		return arg;
	self.stay = false;
	/* Counting starts from the preset of the bind. */
	if (cpc_set_restart(cpc, set) == -1)
		return arg;
	job->first = sample(job->buf);
	touch(5);
	job->last = sample(job->buf);
	return self.wrong == 0 && self.overflows == 0 ? NULL : arg;
}

static void blocked_at_birth(void **state)
{
	struct job job = {0};
	sigset_t emt, old;

	(void)state;
	add("page-faults", UINT64_MAX - (1 << 30), CPC_OVF_NOTIFY_EMT);
	catch_emt();
	bind(0);
	job.buf = cpc_buf_create(cpc, set);
	sigemptyset(&emt);
	sigaddset(&emt, SIGEMT);
	pthread_sigmask(SIG_BLOCK, &emt, &old);
	assert_int_equal(pthread_create(&job.thread, NULL, begin_blocked, &job), 0);
	finish(&job);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_count(job.last - job.first, 5);
	assert_true(job.first >= UINT64_MAX - (1 << 30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(emt_at_birth, setup, close_handle),
		cmocka_unit_test_setup_teardown(blocked_at_birth, setup, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
