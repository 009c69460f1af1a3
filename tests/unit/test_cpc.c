/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libcpc by its public header: handles, sets, buffers, and every error.
 */
#include "unit.h"

#include <errno.h>
#include <libcpc.h>
#include <stdio.h>
#include <string.h>

static cpc_t *open_cpc(void)
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);

	assert_non_null(cpc);
	memset(&last_error, 0, sizeof(last_error));
	cpc_seterrhndlr(cpc, hear);
	return cpc;
}

/* A set with page faults, minor faults and, by another name, page faults again. */
static cpc_set_t *three(cpc_t *cpc)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_non_null(set);
	assert_int_equal(cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL),
			 0);
	assert_int_equal(
		cpc_set_add_request(cpc, set, "minor-faults", 100, CPC_COUNT_USER, 0, NULL), 1);
	assert_int_equal(cpc_set_add_request(cpc, set, "perf::PAGE-FAULTS", UINT64_MAX,
					     CPC_COUNT_USER, 0, NULL),
			 2);
	return set;
}

static void versions(void **state)
{
	cpc_t *cpc;

	(void)state;
	errno = 0;
	assert_null(cpc_open(CPC_VER_CURRENT + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(cpc_open(0));
	cpc = open_cpc();
	assert_true(cpc_npic(cpc) >= 1);
	assert_true(strlen(cpc_cciname(cpc)) > 0);
	assert_true(strlen(cpc_cpuref(cpc)) > 0);
	assert_int_equal(cpc_close(cpc), 0);
}

static void refused_requests(void **state)
{
	static char picnum[] = "picnum", nonsense[] = "nonsense";
	static const cpc_attr_t taken = {picnum, 0}, far = {picnum, 1000}, unknown = {nonsense, 1};
	static const struct {
		const char *event;
		uint_t flags;
		const cpc_attr_t *attr;
		int subcode;
		const char *text;
	} cases[] = {
		{"nosuch", CPC_COUNT_USER, NULL, CPC_INVALID_EVENT, "unknown event 'nosuch'"},
		{"", CPC_COUNT_USER, NULL, CPC_INVALID_EVENT, "unknown event ''"},
		{"0", CPC_COUNT_USER, NULL, CPC_INVALID_EVENT,
		 "invalid event '0': a raw code is a number from 1 to 0xffffffffffffffff"},
		{"page-faults:nosuch", CPC_COUNT_USER, NULL, CPC_INVALID_EVENT,
		 "invalid event 'page-faults:nosuch': 'page-faults' has no unit mask or "
		 "modifier 'nosuch'; it has: u, k, mg, mh"},
		{"page-faults", 0, NULL, CPC_REQ_INVALID_FLAGS,
		 "event 'page-faults' would be counted neither in user nor in kernel mode"},
		{"page-faults", CPC_COUNT_USER | 0x100, NULL, CPC_REQ_INVALID_FLAGS,
		 "unknown flags for event 'page-faults'"},
		{"page-faults", CPC_COUNT_USER, &unknown, CPC_INVALID_ATTRIBUTE,
		 "unknown attribute 'nonsense' of event 'page-faults'"},
		{"page-faults", CPC_COUNT_USER, &taken, CPC_INVALID_PICNUM,
		 "pic0 is asked for twice, by 'cpu-clock' and 'page-faults'"},
		{"page-faults", CPC_COUNT_USER, &far, CPC_INVALID_PICNUM, NULL},
	};
	cpc_t *cpc = open_cpc();
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	assert_int_equal(cpc_set_add_request(cpc, set, "cpu-clock", 0, CPC_COUNT_USER, 1, &taken),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&last_error, 0, sizeof(last_error));
		assert_int_equal(cpc_set_add_request(cpc, set, cases[i].event, 0, cases[i].flags,
						     cases[i].attr != NULL, cases[i].attr),
				 -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(last_error.calls, 1);
		assert_int_equal(last_error.subcode, cases[i].subcode);
		assert_string_equal(last_error.fn, "cpc_set_add_request");
		if (cases[i].text != NULL)
			assert_string_equal(last_error.text, cases[i].text);
	}
	cpc_close(cpc);
}

static void foreign_objects(void **state)
{
	cpc_t *cpc = open_cpc(), *other = open_cpc();
	cpc_set_t *set = three(cpc);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	uint64_t val;

	(void)state;
	assert_int_equal(cpc_set_destroy(other, set), -1);
	assert_int_equal(errno, EINVAL);
	assert_null(cpc_set_dup(other, set));
	assert_int_equal(cpc_set_add_request(other, set, "faults", 0, CPC_COUNT_USER, 0, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_set_request_preset(other, set, 0, 0), -1);
	assert_null(cpc_buf_create(other, set));
	assert_int_equal(cpc_buf_destroy(other, buf), -1);
	assert_int_equal(cpc_buf_get(other, buf, 0, &val), -1);
	assert_int_equal(cpc_bind_curlwp(other, set, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_unbind(other, set), -1);
	assert_int_equal(cpc_set_sample(other, set, buf), -1);
	assert_int_equal(errno, EINVAL);
	cpc_close(other);
	cpc_close(cpc);
}

static void wrong_states(void **state)
{
	cpc_t *cpc = open_cpc();
	cpc_set_t *set = cpc_set_create(cpc), *more;
	cpc_buf_t *small = cpc_buf_create(cpc, set), *buf;

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_string_equal(last_error.text, "the set has no requests");
	assert_int_equal(cpc_unbind(cpc, set), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_set_sample(cpc, set, small), -1);
	assert_int_equal(errno, EINVAL);

	more = three(cpc);
	buf = cpc_buf_create(cpc, more);
	assert_int_equal(cpc_bind_curlwp(cpc, more, 0x4000), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_set_request_preset(cpc, more, 3, 0), -1);
	assert_int_equal(cpc_set_request_preset(cpc, more, -1, 0), -1);
	assert_int_equal(cpc_bind_curlwp(cpc, more, 0), 0);
	assert_int_equal(cpc_set_add_request(cpc, more, "faults", 0, CPC_COUNT_USER, 0, NULL), -1);
	assert_string_equal(last_error.text, "the set is bound");
	assert_int_equal(cpc_set_sample(cpc, more, small), -1); /* a buffer of another set */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_set_sample(cpc, more, buf), 0);
	cpc_close(cpc); /* unbinds */
}

struct walked {
	int n;
	const char *event[3];
	uint64_t preset[3];
	uint_t flags[3];
};

static void walk(void *arg, int index, const char *event, uint64_t preset, uint_t flags, int nattrs,
		 const cpc_attr_t *attrs)
{
	struct walked *w = arg;

	(void)attrs;
	assert_int_equal(index, w->n);
	assert_int_equal(nattrs, 0);
	w->event[w->n] = event;
	w->preset[w->n] = preset;
	w->flags[w->n++] = flags;
}

static void walking(void **state)
{
	cpc_t *cpc = open_cpc();
	cpc_set_t *set = three(cpc), *dup = cpc_set_dup(cpc, set);
	struct walked w = {0};

	(void)state;
	assert_non_null(dup);
	assert_int_equal(cpc_set_request_preset(cpc, dup, 0, 7), 0);
	cpc_walk_requests(cpc, dup, &w, walk);
	assert_int_equal(w.n, 3);
	assert_string_equal(w.event[2], "perf::PAGE-FAULTS");
	assert_int_equal(w.preset[0], 7);
	assert_int_equal(w.preset[1], 100);
	assert_true(w.preset[2] == UINT64_MAX);
	assert_int_equal(w.flags[2], CPC_COUNT_USER);

	/* The original has presets of its own, and can be bound without the copy. */
	assert_int_equal(cpc_set_add_request(cpc, set, "cs", 0, CPC_COUNT_SYSTEM, 0, NULL), 3);
	w = (struct walked){0};
	cpc_walk_requests(cpc, dup, &w, walk);
	assert_int_equal(w.n, 3);
	cpc_close(cpc);
}

static void set_all(cpc_t *cpc, cpc_buf_t *buf, uint64_t a, uint64_t b, uint64_t c)
{
	assert_int_equal(cpc_buf_set(cpc, buf, 0, a), 0);
	assert_int_equal(cpc_buf_set(cpc, buf, 1, b), 0);
	assert_int_equal(cpc_buf_set(cpc, buf, 2, c), 0);
}

static void assert_all(cpc_t *cpc, cpc_buf_t *buf, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t want[] = {a, b, c};
	uint64_t val;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(cpc_buf_get(cpc, buf, i, &val), 0);
		assert_true(val == want[i]);
	}
}

static void arithmetic(void **state)
{
	cpc_t *cpc = open_cpc();
	cpc_set_t *set = three(cpc), *other = cpc_set_create(cpc), *dup = cpc_set_dup(cpc, set);
	cpc_buf_t *a = cpc_buf_create(cpc, set), *b = cpc_buf_create(cpc, dup);
	cpc_buf_t *c = cpc_buf_create(cpc, set), *foreign = cpc_buf_create(cpc, other);
	uint64_t val;

	(void)state;
	assert_all(cpc, a, 0, 0, 0);
	set_all(cpc, a, 10, 20, 1);
	set_all(cpc, b, 1, 2, 3);
	assert_int_equal(cpc_buf_sub(cpc, c, a, b), 0);
	assert_all(cpc, c, 9, 18, UINT64_MAX - 1); /* modulo 2^64 */
	assert_int_equal(cpc_buf_add(cpc, c, c, b), 0);
	assert_all(cpc, c, 10, 20, 1);
	assert_int_equal(cpc_buf_copy(cpc, c, b), 0);
	assert_all(cpc, c, 1, 2, 3);
	cpc_buf_zero(cpc, c);
	assert_all(cpc, c, 0, 0, 0);
	assert_true(cpc_buf_hrtime(cpc, c) == 0);
	assert_true(cpc_buf_tick(cpc, c) == 0);

	assert_int_equal(cpc_buf_get(cpc, a, 3, &val), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_buf_get(cpc, a, -1, &val), -1);
	assert_int_equal(cpc_buf_set(cpc, a, 3, 0), -1);
	assert_int_equal(cpc_buf_sub(cpc, c, a, foreign), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_buf_add(cpc, foreign, a, b), -1);
	assert_int_equal(cpc_buf_copy(cpc, foreign, a), -1);
	assert_int_equal(cpc_set_destroy(cpc, set), 0); /* buffers outlive their set */
	assert_int_equal(cpc_buf_add(cpc, c, a, b), 0);
	cpc_close(cpc);
}

/* The description of a request begins with its slot. */
static void assert_slot(cpc_t *cpc, const cpc_set_t *set, int index, int slot)
{
	char text[256], pic[16];

	snprintf(pic, sizeof(pic), "pic%d ", slot);
	assert_int_equal(cpc_set_describe(cpc, set, index, text, sizeof(text)), 0);
	assert_memory_equal(text, pic, strlen(pic));
}

static void slots(void **state)
{
	static char picnum[] = "picnum";
	const cpc_attr_t one = {picnum, 1}, two = {picnum, 2};
	cpc_t *cpc = open_cpc();
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	if (cpc_npic(cpc) < 3)
		skip_because("there are %u slots only", cpc_npic(cpc));
	assert_int_equal(cpc_set_add_request(cpc, set, "faults", 0, CPC_COUNT_USER, 1, &one), 0);
	/* The slot after the highest one, 2. */
	assert_int_equal(cpc_set_add_request(cpc, set, "faults", 0, CPC_COUNT_USER, 0, NULL), 1);
	assert_slot(cpc, set, 1, 2);
	/* It moves to another slot for a request of that slot. */
	assert_int_equal(cpc_set_add_request(cpc, set, "faults", 0, CPC_COUNT_USER, 1, &two), 2);
	assert_slot(cpc, set, 1, 3);
	assert_slot(cpc, set, 2, 2);
	assert_int_equal(cpc_set_add_request(cpc, set, "faults", 0, CPC_COUNT_USER, 1, &two), -1);
	assert_int_equal(last_error.subcode, CPC_INVALID_PICNUM);
	cpc_close(cpc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions),	   cmocka_unit_test(refused_requests),
		cmocka_unit_test(foreign_objects), cmocka_unit_test(wrong_states),
		cmocka_unit_test(walking),	   cmocka_unit_test(arithmetic),
		cmocka_unit_test(slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
