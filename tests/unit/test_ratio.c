/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Ratios: what expressions mean, which are refused, and those of definitions.
 */
#include "unit.h"

#include <libcpc.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void values(void **state)
{
	static const struct {
		const char *text;
		uint_t nevents;
		double val; /* if a is 6, b is 3, c is 2^64 - 1, the rest 0 */
	} cases[] = {
		{"a / b", 2, 2},
		{"a / a", 1, 1},
		{"a / b / 2", 2, 1},
		{"a - b - 1", 2, 2},
		{"a + b * 2", 2, 12},
		{"(a + b) * 2", 2, 18},
		{"( ( a ) + ( b ) ) * 2", 2, 18},
		{"a * (b - (a - 1))", 2, -12},
		{"100 * a / (a + b)", 2, 600. / 9},
		{"a * 0.5", 1, 3},
		{"a * 1e-3", 1, 0.006},
		{"a * 25E+2", 1, 15000},
		{"c / (c - 1)", 1, 1},
		{"(c - d) - (c - a)", 3, 6},
		{"d / d", 1, NAN},
		{"a / d", 2, NAN},
		{"(a / d) * 0", 2, NAN},
		{"a / (b - b)", 2, NAN},
		{"d / a", 2, 0},
		{"a * 1e300 * 1e300", 1, NAN},
		{"cpu/event=0xc0,umask=1/ / a", 2, 0},
		{"uprobe/func=f(int)/ / a", 2, 0},
		{"0x11 / 16", 1, 0},
		{"page-faults / a", 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cpc_ratio_t *ratio = cpc_ratio_parse(cases[i].text);
		long double count[8] = {0};
		double val;

		if (ratio == NULL)
			fail_msg("'%s' is refused", cases[i].text);
		assert_int_equal(cpc_ratio_nevents(ratio), cases[i].nevents);
		assert_null(cpc_ratio_event(ratio, cases[i].nevents));
		for (uint_t k = 0; k < cases[i].nevents; k++) {
			const char *name = cpc_ratio_event(ratio, k);

			count[k] = strcmp(name, "a") == 0   ? 6
				   : strcmp(name, "b") == 0 ? 3
				   : strcmp(name, "c") == 0 ? (long double)UINT64_MAX
							    : 0;
		}
		val = cpc_ratio_value(ratio, count);
		if (isnan(cases[i].val) ? !isnan(val) : !(fabs(val - cases[i].val) < 1e-12))
			fail_msg("'%s' is %g", cases[i].text, val);
		assert_string_equal(cpc_ratio_text(ratio), cases[i].text);
		cpc_ratio_free(ratio);
	}
	cpc_ratio_free(NULL);
}

static void bad_ones(void **state)
{
	static const char *const cases[] = {
		"",   "a /",   "/ a",	  "a b",    "a / / b", "(a",   "a)",	    "a / (b",
		"()", "1 / 2", "a / b )", "a + ()", "* a",     "a (b", "a,sys * 2", "a ( b )",
	};
	char deep[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		errno = 0;
		if (cpc_ratio_parse(cases[i]) != NULL)
			fail_msg("'%s' is accepted", cases[i]);
		assert_int_equal(errno, EINVAL);
	}
	for (int n = 64; n <= 65; n++) {
		cpc_ratio_t *ratio;

		snprintf(deep, sizeof(deep), "%.*sa%.*s", n,
			 "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
			 n,
			 "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))");
		ratio = cpc_ratio_parse(deep);
		assert_int_equal(ratio != NULL, n == 64);
		cpc_ratio_free(ratio);
	}
}

/* The deepest allowed expression fits into a stack of that size. */
static void deepest(void **state)
{
	const long double one = 1;
	char text[1024] = "";
	cpc_ratio_t *ratio;

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(text, "a + a * (");
	strcat(text, "a + a * a");
	for (int i = 0; i < 64; i++)
		strcat(text, ")");
	ratio = cpc_ratio_parse(text);
	assert_non_null(ratio);
	assert_true(fabs(cpc_ratio_value(ratio, &one) - 66) < 1e-12);
	cpc_ratio_free(ratio);
}

static char path[] = "/tmp/test_ratio.XXXXXX";

static int write_definitions(void **state)
{
	static const char text[] = "one = page-faults / faults\n"
				   "some = one + 2\n"
				   "sum = page-faults + faults\n"
				   "half = sum / 2 * some\n"
				   "round = other / 2\n"
				   "other = round * 2\n"
				   "grow0 = one * one\n"
				   "grow = grow0 * grow0 * grow0 * grow0 * unknown-event\n"
				   "wrong = page-faults / (\n";
	int fd = mkstemp(path);

	(void)state;
	if (fd == -1 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1)
		return -1;
	setenv("CPC_EVENTS", path, 1);
	return close(fd);
}

static int remove_definitions(void **state)
{
	(void)state;
	return unlink(path);
}

static int subcode;

static void keep_subcode(const char *fn, int code, const char *fmt, va_list ap)
{
	(void)fn;
	(void)fmt;
	(void)ap;
	if (code != CPC_WARNING)
		subcode = code;
}

static void definitions(void **state)
{
	static const struct {
		const char *name, *text;
	} found[] = {
		{"one", "page-faults / faults"},
		{"ONE", "page-faults / faults"},
		{"some", "( page-faults / faults ) + 2"},
		{"half", "sum / 2 * ( ( page-faults / faults ) + 2 )"},
	};
	static const char *const not_found[] = {"sum",	 "page-faults", "no-such-thing",
						"round", "other",	"wrong"};
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = cpc_set_create(cpc);
	cpc_ratio_t *ratio;

	(void)state;
	cpc_seterrhndlr(cpc, keep_subcode);
	for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
		subcode = 0;
		assert_int_equal(
			cpc_set_add_request(cpc, set, found[i].name, 0, CPC_COUNT_USER, 0, NULL),
			-1);
		assert_int_equal(subcode, CPC_IS_RATIO);
		assert_int_equal(cpc_name_kind(cpc, found[i].name), CPC_NAME_RATIO);
		ratio = cpc_ratio_find(cpc, found[i].name);
		assert_non_null(ratio);
		assert_string_equal(cpc_ratio_text(ratio), found[i].text);
		cpc_ratio_free(ratio);
	}
	for (size_t i = 0; i < ARRAY_SIZE(not_found); i++) {
		errno = subcode = 0;
		assert_null(cpc_ratio_find(cpc, not_found[i]));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(subcode, CPC_INVALID_EVENT);
	}
	subcode = 0;
	assert_int_equal(cpc_name_kind(cpc, "page-faults"), CPC_NAME_EVENT);
	assert_int_equal(cpc_name_kind(cpc, "sum"), CPC_NAME_EVENT);
	assert_int_equal(cpc_name_kind(cpc, "page-fault"), CPC_NAME_EVENT); /* similar */
	assert_int_equal(cpc_name_kind(cpc, "no-such-thing"), CPC_NAME_UNKNOWN);
	assert_int_equal(subcode, 0);
	ratio = cpc_ratio_find(cpc, "grow");
	assert_non_null(ratio);
	assert_int_equal(cpc_ratio_nevents(ratio), 3); /* two names, and an unknown one */
	cpc_ratio_free(ratio);
	cpc_close(cpc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(bad_ones),
		cmocka_unit_test(deepest),
		cmocka_unit_test(definitions),
	};

	return cmocka_run_group_tests(tests, write_definitions, remove_definitions);
}
