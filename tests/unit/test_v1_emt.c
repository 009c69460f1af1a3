/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The obsolete interface: overflow, and LWPs that inherit an event.
 */
#include "v1.h"

#include <pthread.h>
#include <signal.h>

/* ---- overflow -------------------------------------------------------------------------- */

#define PRESET0 (UINT64_MAX - 99)

static _Thread_local struct {
	int births, overflows, wrong;
} seen;

static void on_emt(int sig, siginfo_t *info, void *context)
{
	int err = errno;
	cpc_event_t event;

	(void)context;
	if (sig != SIGEMT || info->si_code != EMT_CPCOVF || cpc_take_sample(&event) == -1) {
		seen.wrong++;
		return;
	}
	if (event.ce_pic[0] == UINT64_MAX && event.ce_pic[1] == UINT64_MAX)
		seen.births++;
	else if (event.ce_pic[0] == 0 && event.ce_pic[1] == 100)
		seen.overflows++;
	else
		seen.wrong++;
	event.ce_pic[0] = PRESET0;
	event.ce_pic[1] = 0;
	if (cpc_bind_event(&event, CPC_BIND_EMT_OVF) == -1)
		seen.wrong++;
	errno = err;
}

static cpc_event_t overflowing(void)
{
	const struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO};
	cpc_event_t event = event_of("pic0=page-faults,pic1=faults");

	skip_under_tsan("keeps signals");
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	raise(SIGEMT); /* from now on, the handler is there */
	memset(&seen, 0, sizeof(seen));
	event.ce_pic[0] = PRESET0;
	event.ce_pic[1] = 0;
	return event;
}

static void emt(void **state)
{
	cpc_event_t event = overflowing();

	(void)state;
	assert_int_equal(cpc_bind_event(&event, CPC_BIND_EMT_OVF), 0);
	touch(50);
	assert_int_equal(cpc_bind_event(&event, CPC_BIND_EMT_OVF), 0); /* the period begins again */
	touch(1050);
	assert_int_equal(seen.overflows, 10);
	assert_int_equal(seen.births + seen.wrong, 0);
	assert_int_equal(cpc_count_sys_events(1), -1);
	assert_int_equal(errno, ENOTSUP);
}

/* A handler of overflows finds the bound event, also if it interrupts the library. */
static void on_call(int sig, siginfo_t *info, void *context)
{
	int err = errno;
	cpc_event_t event;

	(void)sig;
	(void)info;
	(void)context;
	seen.overflows++;
	if (cpc_take_sample(&event) == -1) {
		seen.wrong++;
		return;
	}
	event.ce_pic[0] = event.ce_pic[1] = 0;
	if (cpc_bind_event(&event, CPC_BIND_EMT_OVF) == -1)
		seen.wrong++;
	errno = err;
}

/* Overflows at call `n` from now on of a function that the library itself calls. */
static void interrupt(const void *function, unsigned n)
{
	const struct sigaction act = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
	cpc_event_t event;
	char spec[128];

	skip_under_tsan("keeps signals");
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	memset(&seen, 0, sizeof(seen));
	snprintf(spec, sizeof(spec), "breakpoint/addr=%p/,breakpoint/addr=%p/", function, function);
	if (cpc_strtoevent(cpc_getcpuver(), spec, &event) == -1)
		skip_because("no breakpoints here: %s", told);
	event.ce_pic[0] = -(uint64_t)n;
	if (cpc_bind_event(&event, CPC_BIND_EMT_OVF) == -1)
		skip_because("no breakpoints here: %s", told);
}

static void emt_in_rele(void **state)
{
	cpc_event_t event;

	(void)state;
	interrupt((const void *)(uintptr_t)cpc_unbind, 1);
	assert_int_equal(cpc_rele(), 0);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(cpc_take_sample(&event), -1);
	assert_int_equal(errno, EINVAL);
}

static void emt_in_bind(void **state)
{
	(void)state;
	interrupt((const void *)(uintptr_t)pthread_mutex_unlock, 1);
	assert_int_equal(seen.overflows, 1);
	assert_int_equal(seen.wrong, 0);
}

/* A breakpoint of Arm hits once more when the handler of its signal returns to it. */
#ifdef __aarch64__
#define HITS_AGAIN 1
#else
#define HITS_AGAIN 0
#endif

/* The values of a sample are from one instant, also if a handler samples in between. */
static void emt_in_sample(void **state)
{
	cpc_event_t event;

	(void)state;
	interrupt((const void *)(uintptr_t)cpc_buf_get, 2);
	assert_int_equal(cpc_take_sample(&event), 0);
	assert_int_equal(seen.overflows, 1);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(event.ce_pic[0], HITS_AGAIN); /* since the handler */
	assert_int_equal(event.ce_pic[1], HITS_AGAIN);
}

static void *heir(void *arg)
{
	cpc_event_t event;
	bool born = seen.births == 1 && seen.overflows == 0;
	int before;

	if (cpc_take_sample(&event) == -1)
		return arg;
	event.ce_pic[0] = PRESET0;
	event.ce_pic[1] = 0;
	if (cpc_bind_event(&event, CPC_BIND_EMT_OVF) == -1)
		return arg;
	before = seen.overflows;
	touch(550);
	return born && seen.overflows - before == 5 && seen.wrong == 0 ? NULL : arg;
}

static void emt_at_birth(void **state)
{
	cpc_event_t event = overflowing();
	pthread_t thread[8];
	void *failed;

	(void)state;
	event.ce_pic[0] = UINT64_MAX - INT32_MAX;
	for (int round = 0; round < 2; round++) {
		assert_int_equal(cpc_bind_event(&event, CPC_BIND_EMT_OVF | CPC_BIND_LWP_INHERIT),
				 0);
		for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
			assert_int_equal(pthread_create(&thread[i], NULL, heir, &event), 0);
		for (size_t i = 0; i < ARRAY_SIZE(thread); i++) {
			assert_int_equal(pthread_join(thread[i], &failed), 0);
			assert_null(failed);
		}
		assert_int_equal(cpc_rele(), 0);
	}
}

/* Programs look at two values, also of an event that has one. */
static void *look_at_birth(void *arg)
{
	return seen.births == 1 && seen.wrong == 0 ? NULL : arg;
}

static void one_at_birth(void **state)
{
	cpc_event_t event = overflowing();
	pthread_t thread;
	void *failed;

	(void)state;
	event = event_of("page-faults");
	event.ce_pic[0] = UINT64_MAX - INT32_MAX;
	assert_int_equal(cpc_bind_event(&event, CPC_BIND_EMT_OVF), 0);
	/* A flag that the previous bind did not have. */
	assert_int_equal(cpc_bind_event(&event, CPC_BIND_EMT_OVF | CPC_BIND_LWP_INHERIT), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_at_birth, &event), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
}

static void *touch_and_sample(void *arg)
{
	cpc_event_t before, after, *result = arg;

	if (cpc_take_sample(&before) == -1 || cpc_take_sample(&before) == -1)
		return arg;
	touch(30);
	if (cpc_take_sample(&after) == -1)
		return arg;
	cpc_event_diff(result, &after, &before);
	if (cpc_rele() == -1 || cpc_take_sample(&after) == 0 || errno != EINVAL)
		return arg;
	return NULL;
}

static void inherited(void **state)
{
	cpc_event_t event = event_of(FAULTS), result;
	pthread_t thread;
	void *failed;

	(void)state;
	assert_int_equal(cpc_bind_event(&event, CPC_BIND_LWP_INHERIT), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(pthread_create(&thread, NULL, touch_and_sample, &result), 0);
		assert_int_equal(pthread_join(thread, &failed), 0);
		assert_null(failed);
		assert_int_equal(result.ce_pic[0], 30);
		assert_int_equal(result.ce_pic[1], 30);
		assert_int_equal(cpc_take_sample(&event), 0);
	}
}

/* ---- the LWP that bound it ends ----------------------------------------------------------- */

static struct {
	cpc_event_t event;
	pthread_t heir;
	pthread_barrier_t born, alone;
} left;

static void *outlive(void *arg)
{
	cpc_event_t before, after;

	pthread_barrier_wait(&left.born);
	pthread_barrier_wait(&left.alone);
	/* Twice, since the first call may cause page faults of its own. */
	if (cpc_take_sample(&before) == -1 || cpc_take_sample(&before) == -1)
		return arg;
	touch(30);
	if (cpc_take_sample(&after) == -1)
		return arg;
	assert_count(after.ce_pic[0] - before.ce_pic[0], 30);
	return NULL;
}

static void *bind_and_leave(void *arg)
{
	pthread_t *heir = arg;
	cpc_event_t event = left.event;

	if (cpc_bind_event(&event, CPC_BIND_LWP_INHERIT) == -1)
		return &left;
	if (heir != NULL) {
		if (pthread_create(heir, NULL, outlive, &left) != 0)
			return &left;
		pthread_barrier_wait(&left.born);
	}
	return cpc_take_sample(&event) == 0 ? NULL : &left;
}

static void run(void *(*function)(void *), void *arg)
{
	pthread_t thread;
	void *failed;

	assert_int_equal(pthread_create(&thread, NULL, function, arg), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
}

/* LWPs that inherited an event count on; at their ends all files are closed. */
static void binder_ends(void **state)
{
	void *failed;
	int files;

	(void)state;
	left.event = event_of(FAULTS);
	pthread_barrier_init(&left.born, NULL, 2);
	pthread_barrier_init(&left.alone, NULL, 2);
	run(bind_and_leave, NULL);
	files = count_files();
	run(bind_and_leave, &left.heir);
	for (int i = 0; i < 5; i++)
		run(bind_and_leave, NULL); /* these do not end it */
	pthread_barrier_wait(&left.alone);
	assert_int_equal(pthread_join(left.heir, &failed), 0);
	assert_null(failed);
	for (int i = 0; i < 5; i++)
		run(bind_and_leave, NULL);
	assert_int_equal(count_files(), files);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(emt, setup, teardown),
		cmocka_unit_test_setup_teardown(emt_in_rele, setup, teardown),
		cmocka_unit_test_setup_teardown(emt_in_bind, setup, teardown),
		cmocka_unit_test_setup_teardown(emt_in_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(emt_at_birth, setup, teardown),
		cmocka_unit_test_setup_teardown(one_at_birth, setup, teardown),
		cmocka_unit_test_setup_teardown(inherited, setup, teardown),
		cmocka_unit_test_setup_teardown(binder_ends, setup, teardown),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
