/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_lwps.c - counting in the kernel, compared with the counts that LWPs read at their ends.
 */
#include "lwps_watch.h"

/*
 * The counts equal those that the LWP itself printed.  It may be preempted after it printed them.
 * A flawed count must be marked as such; the kernel can cause some.
 */
static void check_lwp(const struct lwp *lwp)
{
	const struct entry *e = entry_of(lwp->tid);

	assert_non_null(e);
	assert_true(lwp->ended);
	assert_int_equal(lwp->images, 1);
	if (!lwp->whole)
		return;
	assert_int_equal(lwp->sum[MINOR] + lwp->sum[MAJOR], e->faults);
	assert_in_range(lwp->sum[SWITCH], e->switches, e->switches + 20);
}

/* Expects `n` LWPs beside the first one. */
static void check_births(unsigned n, enum lwps_event birth)
{
	unsigned i, whole = 0;

	assert_int_equal(w.nlwps, n + 1);
	for (i = 1; i < w.nlwps; i++) {
		assert_int_equal(w.lwp[i].birth, birth);
		check_lwp(&w.lwp[i]);
		whole += w.lwp[i].whole;
	}
	assert_true(whole >= n - n / 100);
}

static void test_threads(void **state)
{
	(void)state;
	watch(everything, 8192);
	run("threads", 50);
	check_births(50, LWPS_THREAD);
	no_losses();
	assert_string_equal(w.lwp[0].comm, "exe");
	assert_true(w.args_size > 14 && memcmp(w.args, "test_lwps\0work\0threads\0", 23) == 0);
	unwatch();
}

static void test_crowd(void **state)
{
	(void)state;
	watch(everything, 8192);
	run("threads", crowd(2000));
	check_births(crowd(2000), LWPS_THREAD);
	no_losses();
	unwatch();
}

static void test_forks(void **state)
{
	(void)state;
	watch(everything, 8192);
	run("forks", crowd(1000));
	check_births(crowd(1000), LWPS_FORK);
	no_losses();
	unwatch();
}

static void test_vforks(void **state)
{
	(void)state;
	watch(everything, 256);
	run("vforks", 100);
	check_births(100, LWPS_FORK);
	no_losses();
	unwatch();
}

/* Known numbers of events in user space and in the scheduler. */
/* A thread that takes 50 ms, less what may have preempted it; and not more than the whole takes. */
static void test_clock(void **state)
{
	const int64_t before = clock_ns(CLOCK_MONOTONIC);

	(void)state;
	watch(everything, 64);
	run("spin", 50);
	check_births(1, LWPS_THREAD);
	assert_true(w.lwp[1].sum[CLOCK] + w.report->entry[0].switches * PREEMPTED_NS >= 50000000);
	assert_true((int64_t)w.lwp[1].sum[CLOCK] <= clock_ns(CLOCK_MONOTONIC) - before);
	unwatch();
}

static void test_switches(void **state)
{
	(void)state;
	watch(everything, 64);
	run("ping-pong", 1000);
	check_births(2, LWPS_FORK);
	assert_true(w.lwp[1].sum[SWITCH] + w.lwp[2].sum[SWITCH] >= 1000);
	unwatch();
}

static void test_migrations(void **state)
{
	(void)state;
	watch(everything, 64);
	run("migrations", 101);
	check_births(1, LWPS_THREAD);
	if (w.report->alone)
		print_message("one CPU: no migrations\n");
	assert_int_equal(w.lwp[1].sum[MIGRATE], w.report->alone ? 0 : 101);
	unwatch();
}

/* ---- execs ---- */

/*
 * Children that execute a program, which reports: the faults of both images are those of the
 * LWP.  The kernel's own number has a few more, of the new image's stack, which is written
 * before the program runs; and the first image reports before the exec.
 */
static void check_exec(const struct lwp *lwp)
{
	const struct entry *before = entry_of(lwp->tid);
	const struct entry *after = entry_of(-lwp->tid);
	uint64_t first = lwp->image[0][MINOR] + lwp->image[0][MAJOR];
	uint64_t sum = lwp->sum[MINOR] + lwp->sum[MAJOR];

	assert_true(lwp->ended);
	assert_int_equal(lwp->images, 2);
	assert_non_null(before);
	assert_non_null(after);
	if (!lwp->whole)
		return;
	assert_in_range(first, before->faults, before->faults + 30);
	assert_in_range(sum, after->faults - 100, after->faults);
	assert_true(sum - first >= 200);
}

static void check_execs(unsigned first, unsigned n)
{
	unsigned i, found = 0;

	for (i = first; i < w.nlwps; i++) {
		if (w.lwp[i].images != 2)
			continue;
		check_exec(&w.lwp[i]);
		found++;
	}
	assert_int_equal(found, n);
	assert_int_equal(w.execs, n + 1);
	assert_int_equal(w.args_missing, 0);
	no_losses();
}

static void test_execs(void **state)
{
	(void)state;
	watch(everything, 8192);
	run("execs", 20);
	assert_int_equal(w.nlwps, 21);
	check_execs(1, 20);
	unwatch();
}

/* A thread executes a program: the leader ends, and the thread gets its id. */
static void test_exec_by_thread(void **state)
{
	const struct lwp *lwp;

	(void)state;
	watch(everything, 64);
	run("thread-exec", 1);
	assert_int_equal(w.nlwps, 3);
	lwp = &w.lwp[2];
	assert_int_equal(lwp->birth, LWPS_THREAD);
	assert_int_equal(lwp->tid, lwp->tgid);
	assert_int_equal(lwp->tid, w.lwp[1].tid);
	assert_true(w.lwp[1].ended && lwp->ended);
	assert_string_equal(w.old_comm, "executor");
	assert_int_equal(w.execs, 2);
	unwatch();
}

/* ---- a slow reader, and few slots ---- */

/* Nothing is read before the end: slots keep their counts. */
static void test_held(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	watch(everything, 8192);
	lwps_track_next_child(w.lwps);
	pid = start("forks", crowd(500));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	follow();
	assert_int_equal(w.nlwps, crowd(500) + 1);
	check_births(crowd(500), LWPS_FORK);
	no_losses();
	unwatch();
}

/* Slots are reused; each record is taken before the next one. */
static void test_again(void **state)
{
	(void)state;
	watch(everything, 256);
	for (int i = 0; i < 3; i++) {
		w.nlwps = 0;
		w.report->n = 0;
		run("forks", crowd(200));
		check_births(crowd(200), LWPS_FORK);
	}
	no_losses();
	unwatch();
}

/* One slot takes the counts of all LWPs without a slot: the sums are right. */
static void test_shared(void **state)
{
	uint64_t sum[NCOLUMNS], faults = 0, counted = 0;
	int status;
	unsigned i;
	bool whole;
	pid_t pid;

	(void)state;
	watch(everything, 8);
	lwps_track_next_child(w.lwps);
	pid = start("forks", crowd(500));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	follow();
	assert_int_equal(w.nlwps, 7);
	assert_int_equal(lwps_losses(w.lwps).shared, crowd(500) - 6);
	assert_int_equal(lwps_losses(w.lwps).ring_full, 0);
	whole = lwps_whole(lwps_read(w.lwps, LWPS_SHARED, sum));
	for (i = 1; i < w.nlwps; i++)
		counted += w.lwp[i].sum[MINOR] + w.lwp[i].sum[MAJOR];
	for (i = 0; i < w.report->n; i++)
		faults += w.report->entry[i].faults;
	assert_int_equal(w.report->n, crowd(500));
	if (whole)
		assert_int_equal(counted + sum[MINOR] + sum[MAJOR], faults);
	unwatch();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_threads, cleanup),
		cmocka_unit_test_teardown(test_crowd, cleanup),
		cmocka_unit_test_teardown(test_forks, cleanup),
		cmocka_unit_test_teardown(test_vforks, cleanup),
		cmocka_unit_test_teardown(test_clock, cleanup),
		cmocka_unit_test_teardown(test_switches, cleanup),
		cmocka_unit_test_teardown(test_migrations, cleanup),
		cmocka_unit_test_teardown(test_execs, cleanup),
		cmocka_unit_test_teardown(test_exec_by_thread, cleanup),
		cmocka_unit_test_teardown(test_held, cleanup),
		cmocka_unit_test_teardown(test_again, cleanup),
		cmocka_unit_test_teardown(test_shared, cleanup),
	};

	be_workload(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
