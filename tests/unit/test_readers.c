/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_readers - which series a reader gets as 0, and how long the total of an ended one is kept.
 */
#include "../../cmd/rows/readers.h"
#include "unit.h"

#define S INT64_C(1000000000)
#define STAY (READERS_STAY_NS / S)

static const int a, b, c; /* connections */

/* Gets a document at this second, in full.  Returns since when it knows the series, in seconds. */
static int64_t read_at(struct readers *readers, const char *name, const void *connection, int64_t s)
{
	const struct reading reading = readers_come(readers, name, connection, s * S);

	readers_got(readers, &reading);
	return reading.seen_ns / S;
}

static void each_connection_is_a_reader(void **state)
{
	struct readers readers;

	(void)state;
	readers_init(&readers, 1000 * S);
	/* A new one may have read up to five minutes ago. */
	assert_int_equal(read_at(&readers, "x", &a, 1010), 1010 - STAY);
	assert_int_equal(read_at(&readers, "x", &b, 1011), 1011 - STAY);
	assert_int_equal(read_at(&readers, "x", &a, 1020), 1010);
	assert_int_equal(read_at(&readers, "x", &b, 1021), 1011);
	/* A new connection continues for a closed one of the same name. */
	readers_hang_up(&readers, &a);
	assert_int_equal(read_at(&readers, "y", &c, 1025), 1025 - STAY);
	assert_int_equal(read_at(&readers, "x", &c, 1030), 1020);
	/* If several are closed, for the one that has not come for longest. */
	readers_hang_up(&readers, &b);
	readers_hang_up(&readers, &c);
	assert_int_equal(read_at(&readers, "x", &a, 1040), 1021);
	assert_int_equal(read_at(&readers, "x", &b, 1041), 1030);
	readers_clear(&readers);
}

static void what_was_not_sent_is_not_read(void **state)
{
	struct readers readers;

	(void)state;
	readers_init(&readers, 0);
	assert_int_equal(read_at(&readers, "x", &a, 10), 10 - STAY);
	readers_come(&readers, "x", &a, 20 * S);
	assert_int_equal(read_at(&readers, "x", &a, 30), 10);
	assert_int_equal(read_at(&readers, "x", &a, 40), 30);
	readers_clear(&readers);
}

static void an_ended_total_is_kept_until_all_have_read_it(void **state)
{
	struct readers readers;

	(void)state;
	readers_init(&readers, 0);
	read_at(&readers, "x", &a, 10);
	read_at(&readers, "y", &b, 10);
	/* It began at 15 and ended at 16: each reads a 0, and then the total. */
	read_at(&readers, "x", &a, 20);
	read_at(&readers, "x", &a, 30);
	read_at(&readers, "y", &b, 30);
	assert_false(readers_saw_end(&readers, 15 * S, 16 * S));
	read_at(&readers, "y", &b, 40);
	/* Who read from the program before may still come. */
	assert_false(readers_saw_end(&readers, 15 * S, 16 * S));
	readers_expire(&readers, (STAY - 1) * S);
	assert_false(readers_saw_end(&readers, 15 * S, 16 * S));
	readers_expire(&readers, STAY * S);
	assert_true(readers_saw_end(&readers, 15 * S, 16 * S));
	/* Of one that ended later, they have not read the total. */
	assert_false(readers_saw_end(&readers, 15 * S, 41 * S));
	/* They no longer come. */
	readers_expire(&readers, (40 + STAY) * S);
	assert_true(readers_saw_end(&readers, 15 * S, 41 * S));
	assert_int_equal(readers.n, 0);
	readers_clear(&readers);
}

static void there_are_not_too_many(void **state)
{
	struct readers readers;
	static char connections[10000];
	char name[16];

	(void)state;
	readers_init(&readers, 0);
	for (int i = 0; i < 10000; i++)
		read_at(&readers, "x", &connections[i], 1);
	assert_in_range(readers.n, 64, 1000);
	/* The last ones are known. */
	assert_int_equal(read_at(&readers, "x", &connections[9999], 2), 1);
	assert_int_equal(read_at(&readers, "x", &connections[0], 2), 2 - STAY);
	readers_clear(&readers);

	/* So are those with a connection, whatever names come and go. */
	readers_init(&readers, 0);
	read_at(&readers, "x", &a, 1);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		read_at(&readers, name, &b, 2);
		readers_hang_up(&readers, &b);
	}
	assert_int_equal(read_at(&readers, "x", &a, 3), 1);
	readers_clear(&readers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_connection_is_a_reader),
		cmocka_unit_test(what_was_not_sent_is_not_read),
		cmocka_unit_test(an_ended_total_is_kept_until_all_have_read_it),
		cmocka_unit_test(there_are_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
