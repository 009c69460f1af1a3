/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * A thread that is cancelled in the middle of a call, or a process that is forked then, leaves no
 * lock held.
 */
#include "unit.h"

#include <libcpc_v1.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define EVERY(n) (UINT64_MAX - (n) + 1)

/* The call in which a thread with a pending cancellation is; a call that is a cancellation point
 * ends the thread. */
static const char *_Atomic at;
static cpc_t *cpc;

static void quiet(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	(void)subcode;
	(void)fmt;
	(void)ap;
}

static void see_event(void *arg, const char *event)
{
	(void)event;
	++*(unsigned *)arg;
}

static void see_pic(void *arg, uint_t picno, const char *event)
{
	(void)picno;
	see_event(arg, event);
}

static void *nothing(void *arg)
{
	return arg;
}

/* A set whose overflows are buffered, for which the library has a thread and a ring. */
static cpc_set_t *new_set(cpc_t *own, uint_t flags)
{
	cpc_set_t *set = cpc_set_create(own);

	if (set == NULL || cpc_set_add_request(own, set, "page-faults", EVERY(10),
					       CPC_COUNT_USER | flags, 0, NULL) != 0)
		return NULL;
	return set;
}

/* A call that is refused takes its locks, too. */
static const char *use_cpu(cpc_t *own)
{
	cpc_set_t *set = new_set(own, 0);

	if (set == NULL)
		return "no set for a CPU";
	at = "cpc_bind_cpu";
	if (cpc_bind_cpu(own, 0, set, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == 0)
		cpc_unbind(own, set);
	at = "cpc_set_destroy";
	return cpc_set_destroy(own, set) == 0 ? NULL : at;
}

static const char *use_lwp(cpc_t *own, uint_t flags)
{
	cpc_set_t *set = new_set(own, flags);
	cpc_buf_t *buf = set != NULL ? cpc_buf_create(own, set) : NULL;
	pthread_t thread;

	if (buf == NULL)
		return "no set";
	for (int i = 0; i < 2; i++) { /* the second time, in place of the first */
		at = "cpc_bind_curlwp";
		if (cpc_bind_curlwp(own, set, CPC_BIND_LWP_INHERIT) == -1)
			return at;
	}
	at = "pthread_create";
	if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_detach(thread) != 0)
		return at;
	at = "cpc_set_ncopies";
	if (cpc_set_ncopies(own, set) == -1)
		return at;
	at = "cpc_set_sample_all";
	if (cpc_set_sample_all(own, set, buf) == -1)
		return at;
	at = "cpc_unbind";
	if (cpc_unbind(own, set) == -1)
		return at;
	at = "cpc_close"; /* with everything that is still open */
	return cpc_bind_curlwp(own, set, 0) == 0 ? NULL : at;
}

static const char *use_v1(void)
{
	cpc_event_t event;

	at = "cpc_strtoevent";
	if (cpc_strtoevent(cpc_getcpuver(), "page-faults", &event) != 0)
		return at;
	at = "cpc_bind_event";
	if (cpc_bind_event(&event, 0) == -1)
		return at;
	at = "cpc_rele";
	return cpc_rele() == 0 ? NULL : at;
}

static const char *walk(cpc_t *own)
{
	unsigned n = 0;

	at = "cpc_walk_events_all";
	cpc_walk_events_all(own, &n, see_event);
	at = "cpc_walk_events_pic";
	cpc_walk_events_pic(own, 0, &n, see_pic);
	return n > 0 ? NULL : at;
}

/* The failed call; NULL: all succeeded. */
static const char *call_all(void)
{
	static const uint_t flags[] = {0, CPC_OVF_NOTIFY_EMT, CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED,
				       CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED | CPC_OVF_RECORD};
	const char *failed = NULL;
	cpc_t *own;

	for (size_t i = 0; failed == NULL && i < ARRAY_SIZE(flags); i++) {
		at = "cpc_open";
		own = cpc_open(CPC_VER_CURRENT);
		if (own == NULL)
			return at;
		cpc_seterrhndlr(own, quiet);
		at = "cpc_caps";
		if (cpc_npic(own) == 0 || cpc_caps(own) == 0 || cpc_cciname(own) == NULL)
			return at;
		failed = use_cpu(own);
		if (failed == NULL)
			failed = use_lwp(own, flags[i]);
		if (cpc_close(own) == -1)
			failed = at;
	}
	return failed;
}

static void *with_pending(void *arg)
{
	const char *failed;

	(void)arg;
	pthread_cancel(pthread_self());
	failed = call_all();
	if (failed == NULL)
		failed = use_v1();
	if (failed == NULL)
		failed = walk(cpc);
	at = failed;
	pthread_testcancel();
	return NULL;
}

static void all_calls(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, with_pending, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	if (at != NULL)
		fail_msg("%s", at);
	assert_ptr_equal(result, PTHREAD_CANCELED);
}

/*
 * Calls on an LWP's own counters read them by read(2), where it may be cancelled: they have
 * no lock, and the counters go with the LWP.
 */
static void *sample(void *arg)
{
	cpc_set_t *set = new_set(cpc, CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED);
	cpc_buf_t *buf = set != NULL ? cpc_buf_create(cpc, set) : NULL;

	*(cpc_set_t **)arg = set;
	if (buf == NULL || cpc_bind_curlwp(cpc, set, 0) == -1)
		return NULL;
	pthread_cancel(pthread_self());
	cpc_set_sample(cpc, set, buf);
	pthread_testcancel();
	return NULL;
}

static void samples(void **state)
{
	cpc_set_t *set;
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sample, &set), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
}

static atomic_bool over;

static void *call_without_end(void *arg)
{
	(void)arg;
	while (!over && use_v1() == NULL)
		;
	return NULL;
}

static void forks(void **state)
{
	pthread_t thread[2];
	int status;

	(void)state;
	over = false;
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, call_without_end, NULL), 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(600);
			_exit(use_v1() == NULL ? 0 : 1);
		}
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	over = true;
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

static int setup(void **state)
{
	(void)state;
	alarm(600);
	signal(SIGEMT, SIG_IGN);
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		return -1;
	cpc_seterrhndlr(cpc, hear);
	return 0;
}

/* These calls take all locks: a lock that is still held would stop them. */
static int teardown(void **state)
{
	(void)state;
	use_v1();
	return cpc_close(cpc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(samples, setup, teardown),
		cmocka_unit_test_setup_teardown(forks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
