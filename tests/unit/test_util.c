/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Parses seconds, and escapes untrusted text.
 */
#include "unit.h"

#include "../../cmd/base/say.h"
#include "../../cmd/base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void seconds(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t ns;
	} cases[] = {
		{"0", true, 0},
		{"1", true, 1000000000},
		{"0.01", true, 10000000},
		{".5", true, 500000000},
		{"1e-3", true, 1000000},
		{"0.000001", true, 1000},
		{"1e-10", false, 0},
		{"1000000", true, 1000000000000000},
		{"1000001", false, 0},
		{"-1", false, 0},
		{"", false, 0},
		{".", false, 0},
		{"1s", true, 1000000000},
		{" 1", false, 0},
		{"100ms", true, 100000000},
		{"1.5m", true, 90000000000},
		{"1d", true, 86400000000000},
		{"300h", false, 0},
		{"1 s", false, 0},
		{"1sec", true, NSEC},
		{"1min", true, 60 * NSEC},
		{"1hour", false, 0},
		{"s", false, 0},
		{"1ns", false, 0},
		{"1,5", false, 0},
		{"nan", false, 0},
		{"inf", false, 0},
		{"0x10", false, 0},
		{"1e999", false, 0},
	};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (parse_seconds(cases[i].text, &ns) != cases[i].ok)
			fail_msg("'%s' is %s", cases[i].text, cases[i].ok ? "refused" : "accepted");
		if (cases[i].ok)
			assert_int_equal(ns, cases[i].ns);
	}
}

static void expect_escaped(const char *text, const char *want)
{
	char *got;
	size_t size;
	FILE *f = open_memstream(&got, &size);

	assert_non_null(f);
	put_escaped(f, text);
	fclose(f);
	for (size_t i = 0; i < size; i++)
		assert_true(isprint((unsigned char)got[i]));
	if (want != NULL)
		assert_string_equal(got, want);
	free(got);
}

static void escapes(void **state)
{
	char all[256];

	(void)state;
	expect_escaped("", "");
	expect_escaped("sh -c 'exit 0' ~", "sh -c 'exit 0' ~");
	expect_escaped("a\nb\tc\\d", "a\\nb\\tc\\\\d");
	expect_escaped("\033[31m\177\233\303\251", "\\^[[31m\\^?\\M^[\\M-C\\M-)");
	for (int i = 0; i < 255; i++)
		all[i] = (char)(i + 1);
	all[255] = '\0';
	expect_escaped(all, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds),
		cmocka_unit_test(escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
