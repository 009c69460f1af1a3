/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Breakpoints by symbol of this program: bound at once, or late.
 */
#include "handle.h"

#include <errno.h>
#include <libcpc.h>
#include <stdio.h>
#include <string.h>

static volatile int written;

void counted_function(void);

__attribute__((noinline)) void counted_function(void)
{
	written++;
}

static cpc_set_t *set_of(const char *event)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_non_null(set);
	assert_int_equal(cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL), 0);
	return set;
}

/* Some virtual machines have no breakpoints, and Arm64 none with CPC_BIND_LATE. */
static void need_breakpoints(uint_t flags)
{
	cpc_set_t *set = set_of("breakpoint/addr=counted_function/");
	int rc = cpc_bind_curlwp(cpc, set, flags);

	if (rc == -1 && errno != ENOENT)
		skip_lacking("breakpoints");
	cpc_set_destroy(cpc, set);
}

static uint64_t count(cpc_set_t *set)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	uint64_t val;

	assert_non_null(buf);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &val), 0);
	cpc_buf_destroy(cpc, buf);
	return val;
}

static void call(int n)
{
	while (n-- > 0)
		counted_function();
}

struct seen {
	int calls;
	uint64_t address;
};

static void see(void *arg, int index, const char *symbol, uint64_t address)
{
	struct seen *seen = arg;

	assert_int_equal(index, 0);
	assert_string_equal(symbol, "counted_function");
	seen->calls++;
	seen->address = address;
}

static void at_once(void **state)
{
	cpc_set_t *set = set_of("breakpoint/addr=counted_function/");
	struct seen seen = {0};

	(void)state;
	need_breakpoints(0);
	cpc_walk_symbols(cpc, set, &seen, see);
	assert_int_equal(seen.address, 0);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	call(100);
	assert_int_equal(count(set), 100);
	cpc_walk_symbols(cpc, set, &seen, see);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.address, (uintptr_t)&counted_function);
	assert_int_equal(cpc_set_resolve(cpc, set), 0);
	call(1);
	assert_int_equal(count(set), 101);
}

static void late(void **state)
{
	cpc_set_t *set = set_of("breakpoint/addr=counted_function/");

	(void)state;
	need_breakpoints(CPC_BIND_LATE);
	assert_int_equal(cpc_set_resolve(cpc, set), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LATE), 0);
	call(5);
	assert_int_equal(count(set), 0);
	assert_int_equal(cpc_set_resolve(cpc, set), 0);
	call(7);
	assert_int_equal(count(set), 7);
}

static void not_there(void **state)
{
	cpc_set_t *set = set_of("breakpoint/addr=no_such_function/");

	(void)state;
	need_breakpoints(CPC_BIND_LATE);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(last_error.text,
			    "cannot count 'breakpoint/addr=no_such_function/': the program "
			    "has no symbol 'no_such_function'");
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LATE), 0);
	assert_int_equal(cpc_set_resolve(cpc, set), 1);
	assert_int_equal(count(set), 0);
}

static void on_a_cpu(void **state)
{
	cpc_set_t *set = set_of("breakpoint/addr=counted_function/");

	(void)state;
	assert_int_equal(cpc_bind_cpu(cpc, 0, set, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(last_error.text, "a symbol is one of a program"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(at_once, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(late, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(not_there, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(on_a_cpu, open_handle, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
