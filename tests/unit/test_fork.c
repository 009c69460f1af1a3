/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Forked children do not inherit their parent's counters, and do not keep them open.
 */
#include "handle.h"

#include <errno.h>
#include <libcpc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t watched[16];

/* A set of `n` breakpoints, each of which takes a register. */
static cpc_set_t *writes(size_t n)
{
	cpc_set_t *set = cpc_set_create(cpc);
	char event[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=w/",
			 (void *)(uintptr_t)&watched[i]);
		assert_int_equal(cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL),
				 i);
	}
	return set;
}

/* As many breakpoints as there are registers, bound. */
static cpc_set_t *all_registers(size_t *n)
{
	cpc_set_t *set = NULL, *more;

	for (*n = 0; *n < ARRAY_SIZE(watched); ++*n) {
		more = writes(*n + 1);
		if (cpc_bind_curlwp(cpc, more, 0) == -1)
			break;
		set = more;
	}
	if (*n == 0)
		skip_lacking("breakpoints");
	if (*n == ARRAY_SIZE(watched))
		skip_because("this CPU has %zu breakpoints or more", *n);
	return set;
}

/*
 * A child that lives until the other end of the pipe is closed; then it returns -1.  The parent
 * returns after the child ran: only then has the child given up its copies of the files.
 */
static pid_t start_child(int *go)
{
	int end[2], begun[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(end), 0);
	assert_int_equal(pipe(begun), 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		close(begun[1]);
		while (read(end[0], &c, 1) > 0)
			;
		return -1;
	}
	assert_true(pid > 0);
	close(begun[1]);
	assert_int_equal(read(begun[0], &c, 1), 0);
	close(begun[0]);
	close(end[0]);
	*go = end[1];
	return pid;
}

static void end_child(pid_t pid, int go)
{
	int status;

	close(go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Counters that the parent unbinds are free, also while the child lives. */
static void keeps_no_counters(void **state)
{
	cpc_set_t *set;
	size_t n;
	pid_t pid;
	int go;

	(void)state;
	set = all_registers(&n);
	pid = start_child(&go);
	if (pid == -1)
		_exit(0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, writes(n), 0), 0);
	end_child(pid, go);
}

/* The same when the handle is closed. */
static void keeps_no_counters_of_a_closed_handle(void **state)
{
	size_t n;
	pid_t pid;
	int go;

	(void)state;
	all_registers(&n);
	pid = start_child(&go);
	if (pid == -1)
		_exit(0);
	close_handle(NULL);
	assert_int_equal(open_handle(NULL), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, writes(n), 0), 0);
	end_child(pid, go);
}

static uint64_t count(cpc_set_t *set, cpc_buf_t *buf)
{
	uint64_t val = UINT64_MAX;

	if (cpc_set_sample(cpc, set, buf) == -1 || cpc_buf_get(cpc, buf, 0, &val) == -1)
		return UINT64_MAX;
	return val;
}

/* In the child nothing is bound; what it binds counts the child. */
static void starts_unbound(void **state)
{
	cpc_set_t *set = writes(1);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	int status, tries = 0;
	pid_t pid;

	(void)state;
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		skip_lacking("breakpoints");
	watched[0] = 1;
	pid = fork();
	if (pid == 0) {
		tries |= (cpc_set_sample(cpc, set, buf) == 0 || errno != EINVAL) << 0;
		tries |= (cpc_unbind(cpc, set) == 0) << 1;
		tries |= (cpc_enable(cpc) == 0) << 2;
		tries |= (cpc_bind_curlwp(cpc, set, 0) == -1) << 3;
		watched[0] = 2;
		watched[0] = 3;
		tries |= (count(set, buf) != 2) << 4;
		tries |= (cpc_close(cpc) == -1) << 5;
		_exit(tries);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	watched[0] = 4;
	assert_int_equal(count(set, buf), 2);
}

static atomic_bool ends;

static void *bind_often(void *failed)
{
	cpc_set_t *set = cpc_set_create(cpc);

	if (cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) != 0)
		return failed;
	while (!ends) {
		if (cpc_bind_curlwp(cpc, set, 0) == -1 || cpc_unbind(cpc, set) == -1)
			return failed;
	}
	return NULL;
}

static bool is_counter(const char *target)
{
	return strstr(target, "[perf_event]") != NULL;
}

/* A child that is forked at any instant of a bind has none of its files. */
static void made_while_another_binds(void **state)
{
	pthread_t thread;
	void *failed;
	int status;

	(void)state;
	ends = false;
	assert_int_equal(pthread_create(&thread, NULL, bind_often, &failed), 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(count_files_if(is_counter));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	ends = true;
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_no_counters, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(keeps_no_counters_of_a_closed_handle, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(starts_unbound, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(made_while_another_binds, open_handle,
						close_handle),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
