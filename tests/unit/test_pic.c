/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Single requests, read by cpc_read_pic(): here by the system call, since their events are
 * software ones.  The registers of hardware ones are in tests/vm/pmu.sh.
 */
#include "faults.h"
#include "handle.h"

#include <cpc_pic.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRESET (UINT64_MAX - 9)

static cpc_set_t *set;
static int faults;
static const cpc_pic_t *pic;

static int setup(void **state)
{
	if (open_handle(state) == -1)
		return -1;
	set = cpc_set_create(cpc);
	if (cpc_set_add_request(cpc, set, "task-clock", 0, CPC_COUNT_USER, 0, NULL) == -1)
		return -1;
	faults = cpc_set_add_request(cpc, set, "page-faults", PRESET, CPC_COUNT_USER, 0, NULL);
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		return -1;
	pic = cpc_set_pic(cpc, set, faults);
	return pic != NULL ? 0 : -1;
}

static void exact(void **state)
{
	uint64_t before, after, sampled;
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	touch(1);
	assert_int_equal(cpc_read_pic(pic, &before), 0);
	assert_int_equal(cpc_read_pic(pic, &before), 0);
	touch(1000);
	assert_int_equal(cpc_read_pic(pic, &after), 0);
	assert_count(after - before, 1000);
	/* The value is that of a sample, from the preset on. */
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_read_pic(pic, &after), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, faults, &sampled), 0);
	assert_count(after, sampled);
	assert_true(after < PRESET);
}

/* The counter follows the set through all changes of its state. */
static void states(void **state)
{
	uint64_t value, again;

	(void)state;
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(cpc_read_pic(pic, &value), 0);
	touch(10);
	assert_int_equal(cpc_read_pic(pic, &again), 0);
	assert_int_equal(again, value);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_read_pic(pic, &value), -1);
	assert_int_equal(errno, EINVAL);
	assert_null(cpc_set_pic(cpc, set, faults));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(last_error.fn, "cpc_set_pic");
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_int_equal(cpc_read_pic(pic, &value), 0);
	assert_ptr_equal(cpc_set_pic(cpc, set, faults), pic);
	assert_null(cpc_set_pic(cpc, set, faults + 1));
	assert_int_equal(errno, EINVAL);
}

static void *read_of_another(void *arg)
{
	uint64_t value;

	(void)arg;
	errno = 0;
	if (cpc_read_pic(pic, &value) == 0 || errno != EINVAL)
		return "read";
	return cpc_set_pic(cpc, set, faults) == NULL && errno == EINVAL ? NULL : "got it";
}

static void others(void **state)
{
	pthread_t thread;
	void *what;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_of_another, NULL), 0);
	pthread_join(thread, &what);
	assert_null(what);
	pid = fork();
	if (pid == 0)
		_exit(read_of_another(NULL) == NULL ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A read takes no more of the stack than the set needs. */
static void small_stack(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *what;

	(void)state;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	assert_int_equal(pthread_create(&thread, &attr, read_of_another, NULL), 0);
	pthread_join(thread, &what);
	pthread_attr_destroy(&attr);
	assert_null(what);
}

static void *read_inherited(void *arg)
{
	const cpc_pic_t *own = cpc_set_pic(cpc, set, faults);
	uint64_t before, after;

	(void)arg;
	if (own == NULL || own == pic)
		return "another LWP's";
	if (cpc_read_pic(pic, &before) == 0 || errno != EINVAL)
		return "it was read";
	touch(1);
	if (cpc_read_pic(own, &before) == -1)
		return "not read";
	touch(70);
	if (cpc_read_pic(own, &after) == -1)
		return "not read again";
	return after - before == 70 || (UNDER_TSAN && after - before > 70) ? NULL : "not 70";
}

/* An LWP that inherits the set has its own. */
static void inherited(void **state)
{
	pthread_t thread;
	void *what;

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT), 0);
	assert_ptr_equal(cpc_set_pic(cpc, set, faults), pic);
	assert_int_equal(pthread_create(&thread, NULL, read_inherited, NULL), 0);
	pthread_join(thread, &what);
	if (what != NULL)
		fail_msg("%s", (const char *)what);
}

/* A page that the kernel keeps changing, or whose event has no register. */
static void not_to_be_read(void **state)
{
	struct cpc_pic_page page = {
		.lock = 1, .index = 1, .capabilities = CPC_PIC_CAP_RDPMC, .pmc_width = 48};
	cpc_pic_t fake = *pic;
	uint64_t value, again;

	(void)state;
#ifdef CPC_PIC_INLINE
	fake.thread = cpc_pic_thread();
#endif
	fake.page = &page;
	for (int i = 0; i < 2; i++) { /* whose own pages are there then */
		assert_int_equal(cpc_read_pic(pic, &value), 0);
		assert_int_equal(cpc_read_pic(&fake, &again), 0);
	}
	assert_int_equal(cpc_read_pic(pic, &value), 0);
	assert_int_equal(cpc_read_pic(&fake, &again), 0);
	assert_int_equal(again, value);
	page.lock = 2;
	page.index = 0;
	assert_int_equal(cpc_read_pic(&fake, &again), 0);
	assert_int_equal(again, value);
	page.index = 1;
	page.capabilities = 0;
	assert_int_equal(cpc_read_pic(&fake, &again), 0);
	assert_int_equal(again, value);
}

/* The attribute of hypervisor mode is valid, but binding the set fails. */
static void hypervisor(void **state)
{
	cpc_set_t *hv = cpc_set_create(cpc);

	(void)state;
	assert_int_equal(cpc_set_add_request(cpc, hv, "page-faults", 0,
					     CPC_COUNT_USER | CPC_COUNT_HV, 0, NULL),
			 0);
	assert_int_equal(cpc_bind_curlwp(cpc, hv, 0), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(last_error.subcode, CPC_HV_NO_ACCESS);
	assert_string_equal(last_error.text, "cannot count 'page-faults' in the mode of the "
					     "hypervisor: the kernel gives no access to it");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exact, setup, close_handle),
		cmocka_unit_test_setup_teardown(states, setup, close_handle),
		cmocka_unit_test_setup_teardown(others, setup, close_handle),
		cmocka_unit_test_setup_teardown(small_stack, setup, close_handle),
		cmocka_unit_test_setup_teardown(inherited, setup, close_handle),
		cmocka_unit_test_setup_teardown(not_to_be_read, setup, close_handle),
		cmocka_unit_test_setup_teardown(hypervisor, setup, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
