/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Handles, sets, buffers and ratios that do not exist: every call refuses them.  Buffers of
 * different sets, which go together if they have as many requests.
 */
#include "../../libcpc/set/counter.h"
#include "faults.h"
#include "handle.h"

#include <cpc_pic.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define PAGES 50

static cpc_set_t *new_set(cpc_t *of, int requests)
{
	cpc_set_t *set = cpc_set_create(of);

	assert_non_null(set);
	for (int i = 0; i < requests; i++)
		assert_int_equal(
			cpc_set_add_request(of, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL), i);
	return set;
}

static cpc_buf_t *new_buf(const uint64_t *val, int requests)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, new_set(cpc, requests));

	assert_non_null(buf);
	for (int i = 0; i < requests; i++)
		assert_int_equal(cpc_buf_set(cpc, buf, i, val[i]), 0);
	return buf;
}

static uint64_t get(cpc_buf_t *buf, int index)
{
	uint64_t val = UINT64_MAX;

	assert_int_equal(cpc_buf_get(cpc, buf, index, &val), 0);
	return val;
}

/* ---- buffers of different sets -------------------------------------------------------------- */

static void as_many_requests(void **state)
{
	cpc_buf_t *a = new_buf((uint64_t[]){7}, 1), *b = new_buf((uint64_t[]){7}, 1);
	cpc_buf_t *sum = new_buf((uint64_t[]){1}, 1);

	(void)state;
	assert_int_equal(cpc_buf_add(cpc, sum, a, b), 0);
	assert_int_equal(get(sum, 0), 14);
	assert_int_equal(cpc_buf_sub(cpc, sum, sum, b), 0);
	assert_int_equal(get(sum, 0), 7);
	assert_int_equal(cpc_buf_set(cpc, b, 0, 5), 0);
	assert_int_equal(cpc_buf_copy(cpc, sum, b), 0);
	assert_int_equal(get(sum, 0), 5);
}

static void other_number_of_requests(void **state)
{
	cpc_buf_t *one = new_buf((uint64_t[]){7}, 1), *sum = new_buf((uint64_t[]){1}, 1);
	cpc_buf_t *two = new_buf((uint64_t[]){3, 4}, 2), *none = new_buf(NULL, 0);
	cpc_buf_t *const bad[] = {two, none};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		assert_int_equal(cpc_buf_add(cpc, sum, one, bad[i]), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(cpc_buf_add(cpc, sum, bad[i], one), -1);
		assert_int_equal(cpc_buf_sub(cpc, bad[i], one, one), -1);
		assert_int_equal(cpc_buf_copy(cpc, sum, bad[i]), -1);
		assert_int_equal(cpc_buf_copy(cpc, bad[i], sum), -1);
	}
	assert_int_equal(get(sum, 0), 1);
	assert_int_equal(get(two, 0), 3);
	assert_int_equal(get(two, 1), 4);
}

/* A set is sampled into a buffer of another one, whose counters are fewer. */
static void sample_into_other(void **state)
{
	cpc_set_t *set = new_set(cpc, 2);
	cpc_buf_t *before = new_buf((uint64_t[]){1, 2}, 2), *after = new_buf((uint64_t[]){3, 4}, 2);
	cpc_buf_t *one = new_buf((uint64_t[]){7}, 1);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	for (int i = 0; i < 3; i++) { /* the first round faults in what it needs itself */
		assert_int_equal(cpc_set_sample(cpc, set, before), 0);
		touch(PAGES);
		assert_int_equal(cpc_set_sample(cpc, set, after), 0);
	}
	assert_int_equal(cpc_buf_sub(cpc, after, after, before), 0);
	assert_count(get(after, 0), PAGES);
	assert_count(get(after, 1), PAGES);
	errno = 0;
	assert_int_equal(cpc_set_sample(cpc, set, one), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(get(one, 0), 7);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

/* ---- what does not exist --------------------------------------------------------------------- */

static unsigned visits;

static void visit_request(void *arg, int index, const char *event, uint64_t preset, uint_t flags,
			  int nattrs, const cpc_attr_t *attrs)
{
	(void)arg, (void)index, (void)event, (void)preset, (void)flags, (void)nattrs, (void)attrs;
	visits++;
}

static void visit_symbol(void *arg, int index, const char *symbol, uint64_t address)
{
	(void)arg, (void)index, (void)symbol, (void)address;
	visits++;
}

static void visit_overflow(void *arg, const cpc_ovf_t *ovf)
{
	(void)arg, (void)ovf;
	visits++;
}

static void visit_event(void *arg, const char *event)
{
	(void)arg, (void)event;
	visits++;
}

static void visit_pic(void *arg, uint_t picno, const char *event)
{
	(void)arg, (void)picno, (void)event;
	visits++;
}

static void visit_desc(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	(void)arg, (void)group, (void)event, (void)desc;
	visits++;
}

#define refused(call)                            \
	do {                                     \
		errno = 0;                       \
		assert_true(call);               \
		assert_int_equal(errno, EINVAL); \
	} while (0)

/* `set` is not a set of `of`, which may be no handle; `buf` is a buffer of `of`, or none either. */
static void refuse_set(cpc_t *of, cpc_set_t *set, cpc_buf_t *buf)
{
	uint64_t val[CPC_PCBUF_SIZE];
	struct cpc_counter counter[2];
	const char *unit, *why;
	double scale;
	char text[64];

	refused(cpc_set_dup(of, set) == NULL);
	refused(cpc_set_destroy(of, set) == -1);
	refused(cpc_set_add_request(of, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) == -1);
	refused(cpc_set_request_preset(of, set, 0, 1) == -1);
	refused(cpc_set_describe(of, set, 0, text, sizeof(text)) == -1);
	refused(cpc_set_request_scale(of, set, 0, &scale, &unit) == -1);
	refused(cpc_set_request_signed(of, set, 0) == -1);
	refused(cpc_set_counts_on(of, set, 0) == -1);
	refused(cpc_bind_curlwp(of, set, 0) == -1);
	refused(cpc_bind_cpu(of, 0, set, 0) == -1);
	refused(cpc_bind_pctx(of, NULL, 1, set, 0) == -1);
	refused(cpc_unbind(of, set) == -1);
	refused(cpc_set_resolve(of, set) == -1);
	refused(cpc_set_enable(of, set) == -1);
	refused(cpc_set_disable(of, set) == -1);
	refused(cpc_set_enabled(of, set) == -1);
	refused(cpc_set_lost(of, set, text, sizeof(text)) == -1);
	refused(cpc_set_sample(of, set, buf) == -1);
	refused(cpc_set_sample_all(of, set, buf) == -1);
	refused(cpc_set_sample_pcbuf(of, set, buf, val) == -1);
	refused(cpc_set_sample_ovf(of, set, buf, NULL, visit_overflow) == -1);
	refused(cpc_set_ncopies(of, set) == -1);
	refused(cpc_set_restart(of, set) == -1);
	refused(cpc_set_overflowed(of, set, val) == -1);
	refused(cpc_set_pic(of, set, 0) == NULL);
	refused(cpc_buf_create(of, set) == NULL);
	refused(cpc_set_counters(of, set, counter, 2) == -1);
	refused(cpc_set_add_calls(of, set, 0) == -1);
	refused(cpc_set_holds(of, set, 0) == -1);
	refused(cpc_buf_fill(of, buf, set, val, 1, 0, 0) == -1);
	assert_null(cpc_set_unprobed(of, set, getpid(), &why));
	assert_int_equal(cpc_nearest_symbol(of, set, "main", text, sizeof(text)), 0);
	assert_int_equal(cpc_set_stripped(of, set, "main"), 0);
	cpc_walk_requests(of, set, NULL, visit_request);
	cpc_walk_symbols(of, set, NULL, visit_symbol);
	assert_int_equal(visits, 0);
}

/* `buf` is not a buffer of `of`; `good` is one, and of `set`; or neither is. */
static void refuse_buf(cpc_t *of, cpc_buf_t *buf, cpc_set_t *set, cpc_buf_t *good)
{
	uint64_t val[CPC_PCBUF_SIZE] = {7};

	refused(cpc_buf_destroy(of, buf) == -1);
	refused(cpc_buf_get(of, buf, 0, val) == -1);
	refused(cpc_buf_set(of, buf, 0, 1) == -1);
	refused(cpc_buf_hrtime(of, buf) == 0);
	refused(cpc_buf_tick(of, buf) == 0);
	refused(cpc_buf_npcs(of, buf) == 0);
	refused(cpc_buf_nlost(of, buf) == 0);
	refused(cpc_buf_nthrottled(of, buf) == 0);
	refused(cpc_buf_add(of, buf, good, good) == -1);
	refused(cpc_buf_add(of, good, buf, good) == -1);
	refused(cpc_buf_add(of, good, good, buf) == -1);
	refused(cpc_buf_sub(of, buf, good, good) == -1);
	refused(cpc_buf_sub(of, good, buf, good) == -1);
	refused(cpc_buf_sub(of, good, good, buf) == -1);
	refused(cpc_buf_copy(of, buf, good) == -1);
	refused(cpc_buf_copy(of, good, buf) == -1);
	refused(cpc_set_sample(of, set, buf) == -1);
	refused(cpc_set_sample_all(of, set, buf) == -1);
	refused(cpc_set_sample_pcbuf(of, set, buf, val) == -1);
	refused(cpc_set_sample_ovf(of, set, buf, NULL, visit_overflow) == -1);
	refused(cpc_buf_fill(of, buf, set, val, 1, 0, 0) == -1);
	cpc_buf_zero(of, buf);
	assert_int_equal(val[0], 7);
	assert_int_equal(visits, 0);
}

/* `of` is not a handle. */
static void refuse_handle(cpc_t *of, cpc_set_t *set, cpc_buf_t *buf)
{
	refuse_set(of, set, buf);
	refuse_buf(of, buf, set, buf);
	cpc_seterrhndlr(of, hear);
	refused(cpc_set_create(of) == NULL);
	refused(cpc_npic(of) == 0);
	refused(cpc_caps(of) == 0);
	refused(cpc_cciname(of) == NULL);
	refused(cpc_request_preset(of, 0, 1) == -1);
	refused(cpc_enable(of) == -1);
	refused(cpc_disable(of) == -1);
	refused(cpc_ratio_find(of, "ipc") == NULL);
	refused(cpc_name_kind(of, "page-faults") == CPC_NAME_UNKNOWN);
	refused(cpc_walk_events_desc(of, NULL, visit_desc) == -1);
	cpc_walk_events_all(of, NULL, visit_event);
	cpc_walk_events_pic(of, 0, NULL, visit_pic);
	cpc_walk_generic_events_all(of, NULL, visit_event);
	cpc_walk_generic_events_pic(of, 0, NULL, visit_pic);
	assert_int_equal(visits, 0);
	assert_non_null(cpc_cpuref(of));
	assert_int_equal(cpc_is_attr(of, "picnum"), 1);
	cpc_walk_attrs(of, NULL, visit_event);
	assert_true(visits > 0);
	visits = 0;
	refused(cpc_close(of) == -1);
}

static uint64_t own_memory[64];
static char text[] = "not a handle";

/* Pointers that were never handles. */
static void *const wild[] = {
	NULL, (void *)1, (void *)16, (void *)UINTPTR_MAX, own_memory, &own_memory[1], text,
};

static void never_handles(void **state)
{
	cpc_set_t *set = new_set(cpc, 1);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		refuse_set(cpc, wild[i], buf);
		refuse_buf(cpc, wild[i], set, buf);
		refuse_handle(wild[i], set, buf);
		refuse_handle(wild[i], wild[i], wild[i]);
	}
	/* Handles of another kind, and pointers into handles. */
	refuse_set(cpc, (cpc_set_t *)buf, buf);
	refuse_set(cpc, (cpc_set_t *)cpc, buf);
	refuse_set(cpc, (cpc_set_t *)((char *)set + 16), buf);
	refuse_buf(cpc, (cpc_buf_t *)set, set, buf);
	refuse_buf(cpc, (cpc_buf_t *)((char *)buf + 16), set, buf);
	refuse_handle((cpc_t *)set, set, buf);
	/* None of this has changed those that exist. */
	assert_int_equal(cpc_buf_set(cpc, buf, 0, 7), 0);
	assert_int_equal(get(buf, 0), 7);
	assert_int_equal(cpc_buf_destroy(cpc, buf), 0);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
}

static void destroyed(void **state)
{
	cpc_set_t *set = new_set(cpc, 1), *bound = new_set(cpc, 1);
	cpc_buf_t *buf = cpc_buf_create(cpc, bound), *gone = cpc_buf_create(cpc, bound);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, bound, 0), 0);
	assert_int_equal(cpc_set_destroy(cpc, bound), 0);
	refuse_set(cpc, bound, buf);
	assert_int_equal(cpc_buf_destroy(cpc, gone), 0);
	refuse_buf(cpc, gone, set, buf);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
	refuse_set(cpc, set, buf);
	refuse_buf(cpc, gone, set, buf);
	assert_int_equal(cpc_buf_destroy(cpc, buf), 0);
	refuse_buf(cpc, buf, set, gone);
}

/* Of another handle; and of one that is closed. */
static void foreign(void **state)
{
	cpc_t *other = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = new_set(cpc, 1), *theirs = new_set(other, 1);
	cpc_buf_t *buf = cpc_buf_create(cpc, set), *their_buf = cpc_buf_create(other, theirs);

	(void)state;
	cpc_seterrhndlr(other, hear);
	refuse_set(cpc, theirs, buf);
	refuse_buf(cpc, their_buf, set, buf);
	refuse_set(other, set, their_buf);
	refuse_buf(other, buf, theirs, their_buf);
	assert_int_equal(cpc_bind_curlwp(other, theirs, 0), 0);
	refuse_set(cpc, theirs, buf); /* it is the set of this LWP */
	refuse_buf(cpc, their_buf, theirs, buf);
	assert_int_equal(cpc_close(other), 0);
	refuse_handle(other, theirs, their_buf);
	refuse_set(cpc, theirs, buf);
	refuse_buf(cpc, their_buf, set, buf);
	refuse_set(other, set, buf);
}

/* NULL gets no message, because programs release what they may not have made. */
static void messages(void **state)
{
	cpc_set_t *set = new_set(cpc, 1);

	(void)state;
	last_error.calls = 0;
	refused(cpc_set_destroy(cpc, NULL) == -1);
	refused(cpc_unbind(cpc, NULL) == -1);
	refused(cpc_buf_destroy(cpc, NULL) == -1);
	assert_int_equal(last_error.calls, 0);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
	refused(cpc_set_destroy(cpc, set) == -1);
	assert_int_equal(last_error.calls, 1);
	assert_string_equal(last_error.fn, "cpc_set_destroy");
	assert_string_equal(last_error.text, "not a set of this handle, or destroyed");
}

static void no_controller(void **state)
{
	cpc_set_t *set = new_set(cpc, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wild); i++)
		refused(cpc_bind_pctx(cpc, wild[i], 1, set, 0) == -1);
	assert_string_equal(last_error.text, "not a handle of a controlled process");
}

static void ratios(void **state)
{
	const long double one[] = {1, 2};
	cpc_ratio_t *ratio = cpc_ratio_parse("page-faults / minor-faults");

	(void)state;
	assert_non_null(ratio);
	assert_true(cpc_ratio_value(ratio, one) == 0.5);
	cpc_ratio_free(ratio);
	cpc_ratio_free(ratio);
	for (size_t i = 0; i <= ARRAY_SIZE(wild); i++) {
		cpc_ratio_t *bad = i < ARRAY_SIZE(wild) ? wild[i] : ratio;

		cpc_ratio_free(bad);
		assert_null(cpc_ratio_text(bad));
		assert_int_equal(cpc_ratio_nevents(bad), 0);
		assert_null(cpc_ratio_event(bad, 0));
		assert_true(isnan(cpc_ratio_value(bad, one)));
	}
}

#define MANY 3000

/* The table grows, and has many holes. */
static void many(void **state)
{
	static cpc_buf_t *buf[MANY];
	static bool exists[MANY];
	cpc_set_t *set = new_set(cpc, 1);
	unsigned random = 1;

	(void)state;
	for (int round = 0; round < 20 * MANY; round++) {
		size_t i = (random = random * 1103515245 + 12345) / 65536 % MANY;

		if (!exists[i]) {
			buf[i] = cpc_buf_create(cpc, set);
			assert_non_null(buf[i]);
			/* malloc(3) gives out addresses again: the others are no longer destroyed.
			 */
			for (size_t k = 0; k < MANY; k++) {
				if (k != i && buf[k] == buf[i])
					buf[k] = NULL;
			}
			assert_int_equal(cpc_buf_set(cpc, buf[i], 0, i), 0);
		} else {
			assert_int_equal(cpc_buf_destroy(cpc, buf[i]), 0);
			refused(cpc_buf_destroy(cpc, buf[i]) == -1);
		}
		exists[i] = !exists[i];
	}
	for (size_t i = 0; i < MANY; i++) {
		uint64_t val;

		assert_int_equal(cpc_buf_get(cpc, buf[i], 0, &val), exists[i] ? 0 : -1);
		if (exists[i])
			assert_int_equal(val, i);
	}
}

#define ROUNDS 20000

/* Makes buffers, and finds those that it has made. */
static void *make_and_find(void *arg)
{
	cpc_buf_t *buf[8] = {0};
	uint64_t val;

	for (size_t i = 0; i < ROUNDS; i++) {
		cpc_buf_t **b = &buf[i % ARRAY_SIZE(buf)];

		if (*b != NULL && (cpc_buf_get(cpc, *b, 0, &val) == -1 ||
				   val != i - ARRAY_SIZE(buf) || cpc_buf_destroy(cpc, *b) == -1))
			return arg;
		*b = cpc_buf_create(cpc, arg);
		if (*b == NULL || cpc_buf_set(cpc, *b, 0, i) == -1)
			return arg;
	}
	return NULL;
}

static void threads(void **state)
{
	cpc_set_t *set = new_set(cpc, 1);
	pthread_t thread[4];
	void *failed;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, make_and_find, set), 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_many_requests, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(other_number_of_requests, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(sample_into_other, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(never_handles, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(destroyed, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(foreign, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(messages, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(no_controller, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(ratios, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(many, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(threads, open_handle, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
