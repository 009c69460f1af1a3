/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_lwps_life.c - counting in the kernel: the records of LWPs, and attaching.
 */
#include "lwps_watch.h"

#include <pthread.h>
#include <sys/ioctl.h>

/* Tracking may end at execs, and with none left. */
static void test_no_exec(void **state)
{
	(void)state;
	watch((struct lwps_config){.follow_fork = true}, 64);
	run("execs", 3);
	assert_int_equal(w.nlwps, 4);
	assert_int_equal(w.execs, 4);
	for (unsigned i = 1; i < 4; i++)
		assert_true(!w.lwp[i].ended && w.lwp[i].images == 1);
	unwatch();
}

static void test_no_fork(void **state)
{
	(void)state;
	watch((struct lwps_config){.follow_exec = true}, 64);
	run("forks", 3);
	assert_int_equal(w.nlwps, 1);
	unwatch();
}

/* Command lines: one of the maximum length, and a longer one. */
static void test_args(void **state)
{
	static const unsigned lengths[] = {200, 300, LWPS_ARGS - 200, LWPS_ARGS + 1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		watch(everything, 64);
		run("long-args", lengths[i]);
		if (lengths[i] < LWPS_ARGS)
			assert_in_range(w.args_size, lengths[i] + 1, LWPS_ARGS - 1);
		else
			assert_int_equal(w.args_size, LWPS_ARGS);
		assert_true(memcmp(w.args, "test_lwps\0work\0", 15) == 0);
		unwatch();
	}
}

static void test_status(void **state)
{
	(void)state;
	watch(everything, 64);
	run("ends", 0);
	assert_int_equal(w.nlwps, 5);
	assert_int_equal(w.lwp[1].status, W_EXITCODE(7, 0));
	assert_int_equal(w.lwp[2].status, W_EXITCODE(0, SIGKILL));
	assert_int_equal(w.lwp[4].status, W_EXITCODE(9, 0));
	unwatch();
}

/* ---- attaching ---- */

static void read_byte(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

/*
 * A process with a crowd of threads starts and ends more threads all the time.  When the test lets
 * it end, each of the crowd touches pages: their counts since the attach are known.
 */
static void test_attach(void **state)
{
	int status, ready[2], attached = 0;
	unsigned i, j, compared = 0;
	bool found;
	pid_t pid;

	(void)state;
	watch(everything, 16384);
	assert_int_equal(pipe(ready), 0);
	w.report->ready_fd = ready[1];
	pid = start("attached", crowd(1000));
	read_byte(ready[0]); /* the threads are there */
	assert_int_equal(lwps_attach(w.lwps, &pid, 1, &found), 0);
	assert_true(found);
	assert_int_equal(kill(pid, SIGTERM), 0);
	follow();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	no_losses();
	/* No LWP was seen twice, and each that reported was seen. */
	for (i = 0; i < w.nlwps; i++) {
		attached += w.lwp[i].birth == LWPS_ATTACH;
		assert_true(w.lwp[i].ended);
	}
	assert_in_range(attached, crowd(1000) + 1, crowd(1000) + 100);
	for (i = 0; i < w.report->n; i++) {
		const struct entry *e = &w.report->entry[i];
		unsigned seen = 0;

		for (j = 0; j < w.nlwps; j++) {
			if (w.lwp[j].tid != e->tid)
				continue;
			seen++;
			if (!w.lwp[j].whole)
				continue;
			assert_in_range(w.lwp[j].sum[MINOR] + w.lwp[j].sum[MAJOR], e->touched,
					e->faults);
			compared++;
		}
		assert_int_equal(seen, 1);
	}
	assert_int_equal(w.report->n, crowd(1000));
	assert_true(compared > 0);
	close(ready[0]);
	close(ready[1]);
	unwatch();
}

/* Attaches to more processes than one call accepts; one of them has exited. */
static void test_attach_many(void **state)
{
	enum { N = LWPS_AT_ONCE + 100, ZOMBIE = N / 2, ABSENT };
	static pid_t pid[N];
	bool found[N];
	int go[2];

	(void)state;
	watch(everything, 2 * N);
	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < N; i++) {
		char byte;

		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] > 0)
			continue;
		close(go[1]);
		_exit(i != ZOMBIE && i != ABSENT && read(go[0], &byte, 1) != 0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid[ZOMBIE], NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(waitpid(pid[ABSENT], NULL, 0), pid[ABSENT]);
	assert_int_equal(lwps_attach(w.lwps, pid, N, found), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(found[i], i != ZOMBIE && i != ABSENT);
	assert_int_equal(lwps_live(w.lwps), N - 2);
	/* Attach again: they are found, and not tracked twice. */
	assert_int_equal(lwps_attach(w.lwps, pid, 2, found), 0);
	assert_true(found[0] && found[1]);
	assert_int_equal(lwps_live(w.lwps), N - 2);
	close(go[1]);
	follow();
	assert_int_equal(w.nlwps, N - 2);
	for (int i = 0; i < N; i++) {
		assert_int_equal(w.lwp[i < N - 2 ? i : 0].birth, LWPS_ATTACH);
		if (i != ABSENT)
			assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
	}
	close(go[0]);
	no_losses();
	unwatch();
}

/* ---- counts of a living child ---- */

/* The child works for each byte that it gets, and answers. */
static unsigned flaws_after_round(const int go[2], const int done[2], unsigned slot,
				  uint64_t *count)
{
	assert_int_equal(write(go[1], "", 1), 1);
	read_byte(done[0]);
	assert_int_equal(lwps_flush(w.lwps), 0);
	return lwps_read(w.lwps, slot, count);
}

/* ---- columns that take turns ---- */

#define PAGES 100 /* that are touched in a round */

/* A child that touches new pages for each byte that it gets, and answers. */
static pid_t start_touching(const int go[2], const int done[2])
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	close(go[1]);
	while (read(go[0], &byte, 1) == 1) {
		char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		madvise(memory, size, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < size; i += page)
			memory[i] = 1;
		munmap(memory, size);
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

enum turn_column { FAULTS_0, CLOCK_0, FAULTS_1, SWITCHES_1, CLOCK_1, NTURN_COLUMNS };

/* An LWP that is attached to, with other columns than those of watch(). */
struct touching {
	int go[2], done[2];
	pid_t pid;
	unsigned slot;
};

/* Two of the columns count page faults by `w.fds`.  Rounds before the attach are not counted. */
static void watch_touching(struct touching *t, struct lwps_config config, unsigned rounds_before)
{
	char why[200];
	bool found;

	watch(everything, 64); /* is it allowed? */
	lwps_close(w.lwps);
	config.ncpus = w.ncpus;
	config.nslots = 8;
	config.attaches = true;
	for (unsigned cpu = 0; cpu < w.ncpus; cpu++) {
		w.fds[0][cpu] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu);
		w.fds[1][cpu] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu);
	}
	w.lwps = lwps_open(&config, why, sizeof(why));
	if (w.lwps == NULL)
		fail_msg("lwps_open: %s", why);
	assert_int_equal(pipe(t->go), 0);
	assert_int_equal(pipe(t->done), 0);
	t->pid = start_touching(t->go, t->done);
	for (unsigned i = 0; i < rounds_before; i++) {
		assert_int_equal(write(t->go[1], "", 1), 1);
		read_byte(t->done[0]);
	}
	assert_int_equal(lwps_attach(w.lwps, &t->pid, 1, &found), 0);
	assert_true(found);
	assert_int_equal(take_all(), 1);
	for (t->slot = 0; w.in_slot[t->slot] == NULL; t->slot++)
		;
}

static unsigned flaws_after_touching(const struct touching *t, uint64_t *count)
{
	return flaws_after_round(t->go, t->done, t->slot, count);
}

static void unwatch_touching(struct touching *t)
{
	close(t->go[1]);
	follow();
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
	close(t->go[0]);
	close(t->done[0]);
	close(t->done[1]);
	for (unsigned cpu = 0; cpu < w.ncpus; cpu++) {
		close(w.fds[0][cpu]);
		close(w.fds[1][cpu]);
	}
	unwatch();
}

/* Only the columns of one turn count at a time, or none. */
static void test_turns(void **state)
{
	const struct lwps_config config = {
		.ncolumns = NTURN_COLUMNS,
		.nturns = 2,
		.column = {[FAULTS_0] = {.kind = LWPS_CPU, .fd = w.fds[0]},
			   [CLOCK_0] = {.kind = LWPS_CLOCK},
			   [FAULTS_1] = {.kind = LWPS_SOFTWARE, .fd = w.fds[1], .turn = 1},
			   [SWITCHES_1] = {.kind = LWPS_SWITCH, .turn = 1},
			   [CLOCK_1] = {.kind = LWPS_CLOCK, .turn = 1}}};
	static const unsigned turns[] = {0, 1, LWPS_NO_TURN, 1, 0, LWPS_NO_TURN, 0};
	uint64_t now[NTURN_COLUMNS], before[NTURN_COLUMNS];
	struct touching t;

	(void)state;
	watch_touching(&t, config, 1); /* its own pages are copied in the first round */
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
		assert_int_equal(lwps_turn(w.lwps, turns[i]), 0);
		lwps_read(w.lwps, t.slot, before);
		assert_int_equal(flaws_after_touching(&t, now), 0);
		assert_int_equal(now[FAULTS_0] - before[FAULTS_0], turns[i] == 0 ? PAGES : 0);
		assert_int_equal(now[FAULTS_1] - before[FAULTS_1], turns[i] == 1 ? PAGES : 0);
		assert_int_equal(now[CLOCK_0] > before[CLOCK_0], turns[i] == 0);
		assert_int_equal(now[CLOCK_1] > before[CLOCK_1], turns[i] == 1);
		assert_true(turns[i] == 1 || now[SWITCHES_1] == before[SWITCHES_1]);
	}
	assert_true(now[SWITCHES_1] > 0);
	unwatch_touching(&t);
}

/* ---- new events for a CPU ---- */

#define ROUNDS 500

static void renew_events(unsigned cpu)
{
	const int fd[] = {open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu),
			  open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu)};

	assert_int_equal(lwps_renew(w.lwps, cpu, fd), 0);
	close(fd[0]);
	close(fd[1]);
}

static void disable_events(void)
{
	for (unsigned cpu = 0; cpu < w.ncpus; cpu++) {
		for (int i = 0; i < 2; i++)
			assert_int_equal(ioctl(w.fds[i][cpu], PERF_EVENT_IOC_DISABLE, 0), 0);
	}
}

static bool any_lost(void)
{
	for (unsigned cpu = 0; cpu < w.ncpus; cpu++) {
		if (lwps_lost(w.lwps, cpu))
			return true;
	}
	return false;
}

/* New events in another turn than that in which the old ones were found lost. */
static void test_renew_turns(void **state)
{
	const struct lwps_config config = {
		.ncolumns = 2,
		.nturns = 2,
		.column = {{.kind = LWPS_SOFTWARE, .fd = w.fds[0]},
			   {.kind = LWPS_SOFTWARE, .fd = w.fds[1], .turn = 1}}};
	uint64_t now[2], before[2];
	struct touching t;

	(void)state;
	watch_touching(&t, config, 1);
	assert_int_equal(lwps_turn(w.lwps, 1), 0);
	assert_int_equal(flaws_after_touching(&t, before), 0);
	assert_false(any_lost());
	disable_events();
	assert_int_equal(flaws_after_touching(&t, now), LWPS_NO_EVENT);
	assert_int_equal(now[1], before[1]);
	assert_true(any_lost());
	assert_int_equal(lwps_turn(w.lwps, 0), 0);
	for (unsigned cpu = 0; cpu < w.ncpus; cpu++)
		renew_events(cpu);
	assert_false(any_lost());
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(lwps_turn(w.lwps, turn), 0);
		lwps_read(w.lwps, t.slot, before);
		flaws_after_touching(&t, now);
		assert_int_equal(now[turn] - before[turn], PAGES);
		assert_int_equal(now[!turn], before[!turn]);
	}
	unwatch_touching(&t);
}

/* While an LWP runs: its counts miss some faults then, and stay in range. */
static void test_renew(void **state)
{
	const struct lwps_config config = {.ncolumns = 2,
					   .nturns = 1,
					   .column = {{.kind = LWPS_CPU, .fd = w.fds[0]},
						      {.kind = LWPS_SOFTWARE, .fd = w.fds[1]}}};
	static const char rounds[ROUNDS];
	uint64_t now[2], before[2];
	struct touching t;

	(void)state;
	watch_touching(&t, config, ROUNDS); /* the old events have counts that the new ones lack */
	assert_int_equal(write(t.go[1], rounds, ROUNDS), ROUNDS);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned cpu = 0; cpu < w.ncpus; cpu++)
			renew_events(cpu);
		assert_int_equal(lwps_flush(w.lwps), 0);
		lwps_read(w.lwps, t.slot, now);
		assert_in_range(now[0], 0, ROUNDS * PAGES);
		assert_in_range(now[1], 0, ROUNDS * PAGES);
	}
	for (unsigned i = 0; i < ROUNDS; i++)
		read_byte(t.done[0]);
	flaws_after_touching(&t, before);
	flaws_after_touching(&t, now);
	assert_int_equal(now[0] - before[0], PAGES);
	assert_int_equal(now[1] - before[1], PAGES);
	unwatch_touching(&t);
}

#define CLOSED 100
#define CLOSING_ROUNDS 100

static void *close_events(void *fds)
{
	for (const int *fd = fds; fd < (int *)fds + CLOSED; fd++)
		close(*fd);
	return NULL;
}

/* Another thread closes events that this one has opened, and that come before those of a CPU. */
static void test_renew_while_closing(void **state)
{
	const struct lwps_config config = {.ncolumns = 2,
					   .nturns = 1,
					   .column = {{.kind = LWPS_SOFTWARE, .fd = w.fds[0]},
						      {.kind = LWPS_SOFTWARE, .fd = w.fds[1]}}};
	uint64_t now[2], before[2];
	struct touching t;
	pthread_t closer;
	int fd[CLOSED];

	(void)state;
	watch_touching(&t, config, 1);
	for (unsigned round = 0; round < (few ? 1 : CLOSING_ROUNDS); round++) {
		for (unsigned i = 0; i < CLOSED; i++)
			fd[i] = open_event(PERF_COUNT_SW_DUMMY, 0);
		assert_int_equal(pthread_create(&closer, NULL, close_events, fd), 0);
		renew_events(0);
		pthread_join(closer, NULL);
	}
	flaws_after_touching(&t, before);
	flaws_after_touching(&t, now);
	assert_int_equal(now[0] - before[0], PAGES);
	assert_int_equal(now[1] - before[1], PAGES);
	unwatch_touching(&t);
}

/* ---- events that do not run all the time ---- */

#define HOLDERS 32 /* events of a CPU; none has as many counters */

static int open_instructions(unsigned cpu, bool pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = pinned,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A child that computes for each byte that it gets, and answers. */
static pid_t start_rounds(const int go[2], const int done[2])
{
	pid_t pid = fork();
	char byte;

	if (pid != 0)
		return pid;
	close(go[1]);
	while (read(go[0], &byte, 1) == 1) {
		for (volatile int i = 0; i < 100000; i++)
			;
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

/* These events are not pinned, unlike those of cputrack, and other events take all counters. */
static void test_not_run(void **state)
{
	static int fd[MAX_CPUS], holder[MAX_CPUS][HOLDERS];
	struct lwps_config config = {.ncolumns = 1,
				     .nturns = 1,
				     .column = {{.kind = LWPS_CPU, .fd = fd}},
				     .nslots = 8,
				     .attaches = true};
	unsigned slot, cpu, nevents = 0;
	uint64_t count, before;
	int go[2], done[2];
	char why[200];
	bool found;
	pid_t pid;

	(void)state;
	watch(everything, 64); /* is it allowed? */
	unwatch();
	config.ncpus = w.ncpus;
	for (cpu = 0; cpu < w.ncpus; cpu++) {
		fd[cpu] = open_instructions(cpu, false);
		nevents += fd[cpu] != -1;
	}
	if (nevents == 0)
		skip_because("no hardware counters here");
	w.nlwps = 0;
	w.lwps = lwps_open(&config, why, sizeof(why));
	assert_non_null(w.lwps);
	assert_true(pipe(go) == 0 && pipe(done) == 0);
	pid = start_rounds(go, done);
	assert_int_equal(lwps_attach(w.lwps, &pid, 1, &found), 0);
	take_all();
	assert_int_equal(w.nlwps, 1);
	for (slot = 0; w.in_slot[slot] != &w.lwp[0]; slot++)
		;
	assert_int_equal(flaws_after_round(go, done, slot, &before), 0);
	assert_true(before >= 100000);
	for (cpu = 0; cpu < w.ncpus; cpu++) {
		for (int i = 0; i < HOLDERS; i++)
			holder[cpu][i] = open_instructions(cpu, true);
	}
	assert_int_equal(flaws_after_round(go, done, slot, &count), LWPS_NOT_RUN);
	assert_false(lwps_whole(LWPS_NOT_RUN));
	assert_true(count < before + 100000); /* and that is why */
	for (cpu = 0; cpu < w.ncpus; cpu++) {
		for (int i = 0; i < HOLDERS; i++)
			close(holder[cpu][i]);
		close(fd[cpu]);
	}
	close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	lwps_close(w.lwps);
	w.lwps = NULL;
	for (int i = 0; i < 2; i++)
		close(done[i]);
	close(go[0]);
}

/* The counts of an LWP that runs and does not switch are brought up to date. */
static void test_flush(void **state)
{
	int status, ready[2];
	bool found;
	uint64_t values[NCOLUMNS], before = 0;
	unsigned slot = 0;
	pid_t pid;

	(void)state;
	watch(everything, 64);
	assert_int_equal(pipe(ready), 0);
	w.report->ready_fd = ready[1];
	pid = start("spins-on", 0);
	read_byte(ready[0]);
	assert_int_equal(lwps_attach(w.lwps, &pid, 1, &found), 0);
	assert_int_equal(take_all(), 1);
	for (unsigned i = 0; i < MAX_LWPS; i++)
		slot = w.in_slot[i] ? i : slot;
	/* It gets 20 ms in the end, also on a busy CPU; there may be no switches. */
	while (before < 20000000) {
		assert_int_equal(lwps_flush(w.lwps), 0);
		lwps_read(w.lwps, slot, values);
		assert_true(values[CLOCK] >= before);
		before = values[CLOCK];
	}
	kill(pid, SIGKILL);
	follow();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(w.lwp[0].status, status);
	close(ready[0]);
	close(ready[1]);
	unwatch();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_no_exec, cleanup),
		cmocka_unit_test_teardown(test_no_fork, cleanup),
		cmocka_unit_test_teardown(test_args, cleanup),
		cmocka_unit_test_teardown(test_status, cleanup),
		cmocka_unit_test_teardown(test_attach, cleanup),
		cmocka_unit_test_teardown(test_attach_many, cleanup),
		cmocka_unit_test_teardown(test_turns, cleanup),
		cmocka_unit_test_teardown(test_renew, cleanup),
		cmocka_unit_test_teardown(test_renew_turns, cleanup),
		cmocka_unit_test_teardown(test_renew_while_closing, cleanup),
		cmocka_unit_test_teardown(test_not_run, cleanup),
		cmocka_unit_test_teardown(test_flush, cleanup),
	};

	be_workload(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
