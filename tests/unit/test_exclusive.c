/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * One set with core events per CPU, and none on LWPs at the same time: within a process, and
 * between processes that fork and die.  Without a core PMU, fake/core-pmu.c makes cycles
 * count page faults; vm/unit has one.
 */
#include "handle.h"

#include "../../libcpc/claim/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <libpctx.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int cpu = -1;

/* Waits until libcpc looks for claims again: it caches the result of a look. */
static void outwait_look(void)
{
	usleep(CPCI_CLAIM_LOOK_NS / 1000 + 1);
}

static cpc_set_t *new_set_of(const char *event)
{
	cpc_set_t *set = cpc_set_create(cpc);

	if (cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL) != 0)
		return NULL;
	return set;
}

static cpc_set_t *new_set(void)
{
	return new_set_of("cycles");
}

static int bind_remote(cpc_set_t *set)
{
	return cpc_bind_cpu(cpc, cpu, set, CPC_BIND_CPU_REMOTE);
}

/* The first CPU of ours; skips where whole CPUs may not be counted. */
static void need_cpu(void)
{
	cpc_set_t *set = new_set();
	cpu_set_t mask;

	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	for (cpu = 0; !CPU_ISSET((size_t)cpu, &mask); cpu++)
		;
	if (cpc_bind_cpu(cpc, cpu, set, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == -1 &&
	    errno == EACCES)
		skip_because("whole CPUs may not be counted here: %s", last_error.text);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
}

static void assert_again(int rc)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, EAGAIN);
}

static void within_a_process(void **state)
{
	cpc_set_t *first = new_set(), *second = new_set();
	char expected[128];

	(void)state;
	need_cpu();
	assert_int_equal(bind_remote(first), 0);
	assert_again(bind_remote(second));
	snprintf(expected, sizeof(expected), "%s: this process counts on CPU %d", strerror(EAGAIN),
		 cpu);
	assert_string_equal(last_error.text, expected);
	assert_again(cpc_bind_curlwp(cpc, second, 0));
	assert_int_equal(cpc_bind_cpu(cpc, cpu, second, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED),
			 0);
	assert_int_equal(bind_remote(first), 0); /* again */
	assert_int_equal(cpc_unbind(cpc, first), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, first, 0), 0); /* `second` claims nothing */

	/* Binding replaces the set that the LWP had, also on the same CPU. */
	assert_int_equal(cpc_bind_cpu(cpc, cpu, first, 0), 0);
	assert_int_equal(cpc_bind_cpu(cpc, cpu, second, 0), 0);
	assert_int_equal(cpc_unbind(cpc, first), -1);
	assert_int_equal(cpc_unbind(cpc, second), 0);
	assert_int_equal(bind_remote(first), 0);
}

/* A set without events of the core PMU makes no claim and ignores claims. */
static void side_by_side(void **state)
{
	static const char *const soft[] = {"page-faults", "task-clock", "context-switches"};
	cpc_set_t *core = new_set(), *set[ARRAY_SIZE(soft)], *lwp = new_set_of("minor-faults");
	cpc_buf_t *buf = cpc_buf_create(cpc, lwp);

	(void)state;
	need_cpu();
	assert_int_equal(cpc_bind_curlwp(cpc, lwp, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(soft); i++) {
		set[i] = new_set_of(soft[i]);
		assert_int_equal(bind_remote(set[i]), 0);
	}
	assert_int_equal(cpc_set_sample(cpc, lwp, buf), 0);
	assert_int_equal(bind_remote(core), 0);
	assert_again(bind_remote(new_set()));
	assert_int_equal(cpc_unbind(cpc, set[0]), 0);
	assert_int_equal(bind_remote(set[0]), 0);
	assert_int_equal(cpc_set_sample(cpc, lwp, buf), 0);
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(cpc_enable(cpc), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, lwp, 0), 0);
	/* A single event of the core PMU makes the set conflict with other claims. */
	assert_int_equal(cpc_set_add_request(cpc, set[1], "cycles", 0, CPC_COUNT_USER, 0, NULL),
			 -1);
	assert_int_equal(cpc_unbind(cpc, set[1]), 0);
	assert_int_equal(cpc_set_add_request(cpc, set[1], "cycles", 0, CPC_COUNT_USER, 0, NULL), 1);
	assert_again(bind_remote(set[1]));
	assert_again(cpc_bind_curlwp(cpc, set[1], 0));
}

/* A process, in a group of its own, that binds, reports it, and waits to be killed. */
static pid_t start_holder(bool with_child)
{
	int said[2];
	char word = 0;
	pid_t pid;

	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		open_handle(NULL);
		word = bind_remote(new_set()) == 0 ? 'y' : 'n';
		if (with_child && fork() == 0)
			close(said[1]);
		else if (write(said[1], &word, 1) != 1)
			_exit(1);
		close(said[0]);
		alarm(60);
		for (;;)
			pause();
	}
	close(said[1]);
	assert_int_equal(read(said[0], &word, 1), 1);
	assert_int_equal(word, 'y');
	close(said[0]);
	return pid;
}

static void stop_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void lwps_are_invalidated(void **state)
{
	cpc_set_t *set = new_set();
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	pid_t pid;

	(void)state;
	need_cpu();
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
		pid = start_holder(false);
		if (geteuid() != 0)
			outwait_look();
		if (i == 0)
			assert_again(cpc_set_sample(cpc, set, buf));
		assert_again(cpc_bind_curlwp(cpc, set, 0));
		assert_again(cpc_enable(cpc));
		stop_holder(pid);
		/* The set stays invalid, also if it was not sampled during the claim. */
		assert_again(cpc_set_sample(cpc, set, buf));
		assert_again(cpc_set_sample(cpc, set, buf));
		assert_again(cpc_disable(cpc));
		assert_int_equal(cpc_unbind(cpc, set), 0);
		assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	}
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
}

/*
 * The first claim reports how many processes count LWPs.  Forked children do not count, nor does a
 * process whose sets have no core events.  This must be the first test.
 */
static void told_how_many(void **state)
{
	cpc_set_t *set = new_set();
	int said[2], go[2];
	char c;
	pid_t pid[3];

	(void)state;
	need_cpu();
	assert_int_equal(pipe(said), 0);
	assert_int_equal(pipe(go), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork();
		if (pid[i] > 0)
			continue;
		open_handle(NULL);
		cpc_set_t *own = i == 2 ? new_set_of("page-faults") : new_set();

		close(go[1]);
		c = cpc_bind_curlwp(cpc, own, 0) == 0 ? 'y' : 'n';
		fork(); /* both go on, and say so */
		_exit(write(said[1], &c, 1) == 1 && read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	for (size_t i = 0; i < 2 * ARRAY_SIZE(pid); i++) {
		assert_int_equal(read(said[0], &c, 1), 1);
		assert_int_equal(c, 'y');
	}
	assert_int_equal(bind_remote(set), 0);
	assert_int_equal(last_error.subcode, CPC_WARNING);
	assert_non_null(strstr(last_error.text, "the counters of 2 processes that count LWPs"));
	last_error.subcode = 0;
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(bind_remote(set), 0);
	assert_int_equal(last_error.subcode, 0); /* once */
	close(go[1]);
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++)
		assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
	close(go[0]);
	close(said[0]);
	close(said[1]);
}

static void a_look_that_fails_while_sampling_changes_nothing(void **state)
{
	cpc_set_t *set = new_set();
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	struct rlimit all, none;

	(void)state;
	need_cpu();
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	outwait_look();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int sampled = cpc_set_sample(cpc, set, buf);
	int bound = bind_remote(set), err = errno;

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(sampled, 0);
	assert_int_equal(bound, -1);
	assert_int_equal(err, EMFILE);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
}

static void shared_leaves_lwps_alone(void **state)
{
	cpc_set_t *set = new_set(), *shared = new_set();
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	need_cpu();
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_int_equal(cpc_bind_cpu(cpc, cpu, shared, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED),
			 0);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
}

static void a_dead_process_holds_nothing(void **state)
{
	cpc_set_t *set = new_set();
	char expected[128];
	pid_t pid;

	(void)state;
	need_cpu();
	pid = start_holder(true); /* whose child lives on */
	assert_again(bind_remote(set));
	snprintf(expected, sizeof(expected), "%s: process %d (test_exclusive) counts on CPU %d",
		 strerror(EAGAIN), (int)pid, cpu);
	assert_string_equal(last_error.text, expected);
	stop_holder(pid);
	assert_int_equal(bind_remote(set), 0);
	kill(-pid, SIGKILL);
}

static void a_child_gives_nothing_up(void **state)
{
	cpc_set_t *set = new_set();
	int status;
	pid_t pid;

	(void)state;
	need_cpu();
	assert_int_equal(bind_remote(set), 0);
	pid = fork();
	if (pid == 0) {
		/* The claim is the parent's. */
		if (bind_remote(set) == 0 || errno != EAGAIN)
			_exit(1);
		cpc_close(cpc);
		open_handle(NULL);
		_exit(bind_remote(new_set()) == -1 && errno == EAGAIN ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pid = fork();
	if (pid == 0) {
		open_handle(NULL);
		_exit(bind_remote(new_set()) == -1 && errno == EAGAIN ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* When several bind at the same time, exactly one succeeds. */
static void one_wins(void **state)
{
	enum { RACERS = 4, ROUNDS = 25 };
	int go[2], done[2], status;
	pid_t pid[RACERS];

	(void)state;
	need_cpu();
	for (int round = 0; round < ROUNDS; round++) {
		int winners = 0;
		char c;

		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(done), 0);
		for (int i = 0; i < RACERS; i++) {
			pid[i] = fork();
			if (pid[i] > 0)
				continue;
			open_handle(NULL);
			cpc_set_t *set = new_set();

			close(go[1]);
			close(done[1]);
			while (read(go[0], &c, 1) > 0) /* until all are there */
				;
			status = bind_remote(set) == 0 ? 1 : errno == EAGAIN ? 2 : 3;
			if (status == 1) /* until all have tried */
				while (read(done[0], &c, 1) > 0)
					;
			_exit(status);
		}
		close(go[1]);
		for (int left = RACERS - 1; left > 0; left--) { /* the winner waits */
			pid_t ended = wait(&status);

			assert_true(ended > 0);
			assert_int_equal(WEXITSTATUS(status), 2);
		}
		close(done[1]);
		while (wait(&status) > 0)
			winners += WEXITSTATUS(status) == 1;
		assert_int_equal(winners, 1);
		close(go[0]);
		close(done[0]);
	}
}

/* The perf event that was opened last; -1: none. */
static int last_event_file(void)
{
	char path[64], target[64];

	for (int fd = 255; fd >= 0; fd--) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(target, 0, sizeof(target));
		if (readlink(path, target, sizeof(target) - 1) > 0 &&
		    strcmp(target, "anon_inode:[perf_event]") == 0)
			return fd;
	}
	return -1;
}

/*
 * With core events of an LWP of another process libcpc opens one more event, the witness, which
 * shows whether they lost their counters. If it cannot be read, a sample must fail.
 */
static void a_witness_that_cannot_be_read_fails_the_sample(void **state)
{
	cpc_set_t *set = new_set();
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	pid_t pid = start_sleeper();
	pctx_t *pctx = pctx_capture(pid, NULL, 0, NULL);
	int unreadable = open("/dev/null", O_WRONLY), witness;

	(void)state;
	if (pctx == NULL)
		skip_because("another process cannot be traced here: %s", strerror(errno));
	assert_int_equal(cpc_bind_pctx(cpc, pctx, 1, set, 0), 0);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	witness = last_event_file();
	assert_true(witness != -1 && unreadable != -1);
	assert_int_equal(dup2(unreadable, witness), witness);
	errno = 0;
	assert_int_equal(cpc_set_sample(cpc, set, buf), -1);
	assert_int_equal(errno, EBADF);
	close(unreadable);
	pctx_release(pctx);
	stop_holder(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_how_many, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(within_a_process, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(side_by_side, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(lwps_are_invalidated, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(a_look_that_fails_while_sampling_changes_nothing,
						open_handle, close_handle),
		cmocka_unit_test_setup_teardown(shared_leaves_lwps_alone, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(a_dead_process_holds_nothing, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(a_child_gives_nothing_up, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(one_wins, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(a_witness_that_cannot_be_read_fails_the_sample,
						open_handle, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
