/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Hardware counters, exactly: to be run in the emulated machine (tests/vm), where a loop
 * always has the same number of instructions and no other program runs.
 *
 * With the name of a test as argument, it runs only that one.
 */
#include "../work/machine.h"
#include "handle.h"

#include <errno.h>
#include <libcpc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 100000
#define INSTRUCTIONS "0x08" /* a general counter each */
#define COUNTERS 6	    /* of them, and one more for cycles */

/* 2 * n instructions, and the few of the call. */
__attribute__((noinline)) static void loop(unsigned long n)
{
	loop_rounds(n);
}

static void add(cpc_set_t *set, const char *event, uint_t flags)
{
	assert_true(cpc_set_add_request(cpc, set, event, 0, flags, 0, NULL) >= 0);
}

static cpc_set_t *new_set(const char *event, uint_t flags)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_non_null(set);
	add(set, event, flags);
	return set;
}

/* The counts of each request of a bound set over a loop, between two samples. */
static void measure(cpc_set_t *set, unsigned long rounds, size_t n, uint64_t *count)
{
	cpc_buf_t *before = cpc_buf_create(cpc, set), *after = cpc_buf_create(cpc, set);

	assert_int_equal(cpc_set_sample(cpc, set, before), 0);
	assert_int_equal(cpc_set_sample(cpc, set, before), 0);
	loop(rounds);
	assert_int_equal(cpc_set_sample(cpc, set, after), 0);
	assert_int_equal(cpc_buf_sub(cpc, after, after, before), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(cpc_buf_get(cpc, after, (int)i, &count[i]), 0);
	assert_int_equal(cpc_buf_destroy(cpc, before), 0);
	assert_int_equal(cpc_buf_destroy(cpc, after), 0);
}

/* The first of the requests counts instructions in user mode: exactly, and each time. */
static void assert_exact(cpc_set_t *set, size_t n)
{
	uint64_t once[16], twice[16];

	assert_true(n <= ARRAY_SIZE(once));
	measure(set, ROUNDS, n, once);
	for (int i = 0; i < 2; i++) {
		measure(set, 2 * ROUNDS, n, twice);
		assert_int_equal(twice[0] - once[0], 2 * ROUNDS);
		measure(set, ROUNDS, n, twice);
		assert_int_equal(twice[0], once[0]);
	}
}

static void own_lwp(void **state)
{
	cpc_set_t *set = new_set("Instr_cnt", CPC_COUNT_USER);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_exact(set, 1);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void own_cpu(void **state)
{
	cpc_set_t *set = new_set("Instr_cnt", CPC_COUNT_USER);

	(void)state;
	assert_int_equal(cpc_bind_cpu(cpc, 0, set, 0), 0);
	assert_exact(set, 1);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void *count_in_thread(void *arg)
{
	cpc_set_t *set = arg;

	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_exact(set, 1);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	return NULL;
}

/* Threads count at the same time, each its own instructions. */
static void threads(void **state)
{
	pthread_t thread[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count_in_thread,
						new_set("Instr_cnt", CPC_COUNT_USER)),
				 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
}

struct heir {
	cpc_set_t *set;
	cpc_buf_t *buf[2];
	unsigned long rounds;
	uint64_t first, count;
};

static void *loop_and_sample(void *arg)
{
	struct heir *heir = arg;

	if (cpc_set_sample(cpc, heir->set, heir->buf[0]) == -1)
		return arg;
	loop(heir->rounds);
	if (cpc_set_sample(cpc, heir->set, heir->buf[1]) == -1 ||
	    cpc_buf_get(cpc, heir->buf[0], 0, &heir->first) == -1 ||
	    cpc_buf_get(cpc, heir->buf[1], 0, &heir->count) == -1)
		return arg;
	heir->count -= heir->first;
	return NULL;
}

/* Of a thread that inherits, its own instructions are counted, and all of them in the sum. */
static void inherited(void **state)
{
	struct heir heir[4] = {0};
	cpc_set_t *set = new_set("Instr_cnt", CPC_COUNT_USER);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	uint64_t own, all, parts = 0;
	pthread_t thread;
	void *failed;

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT), 0);
	for (size_t i = 0; i < ARRAY_SIZE(heir); i++) {
		heir[i].set = set;
		heir[i].rounds = ROUNDS * (i + 1);
		for (int j = 0; j < 2; j++)
			heir[i].buf[j] = cpc_buf_create(cpc, set);
		assert_int_equal(pthread_create(&thread, NULL, loop_and_sample, &heir[i]), 0);
		assert_int_equal(pthread_join(thread, &failed), 0);
		assert_null(failed);
		parts += heir[i].first + heir[i].count;
	}
	for (size_t i = 1; i < ARRAY_SIZE(heir); i++) {
		assert_int_equal(heir[i].count - heir[i - 1].count, 2 * ROUNDS);
		/* The library's own instructions after the counter is on, and for the sample. */
		assert_int_equal(heir[i].first, heir[i - 1].first);
		assert_in_range(heir[i].first, 1, 1000);
	}
	assert_int_equal(cpc_set_sample_all(cpc, set, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &all), 0);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &own), 0);
	/* `all` also has the exits of the threads, which take less than 2 * ROUNDS. */
	assert_in_range(all, parts, own + parts + 2 * ROUNDS);
}

/*
 * The counters of a group are read one after the other in kernel mode, so that both are
 * ahead of user and kernel by the cost of a read, which is always the same.
 */
static void modes(void **state)
{
	cpc_set_t *set = new_set("Instr_cnt", CPC_COUNT_USER);
	uint64_t first[3], second[3];

	(void)state;
	add(set, "Instr_cnt", CPC_COUNT_SYSTEM);
	add(set, "Instr_cnt", CPC_COUNT_USER | CPC_COUNT_SYSTEM);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	measure(set, ROUNDS, 3, first);
	measure(set, 2 * ROUNDS, 3, second);
	assert_int_equal(second[0] - first[0], 2 * ROUNDS);
	for (int i = 0; i < 2; i++) {
		assert_true(first[1] > 0 && second[1] > 0);
		assert_int_equal(first[0] + first[1], first[2]);
		assert_int_equal(second[0] + second[1], second[2]);
	}
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void all_counters(void **state)
{
	cpc_set_t *set = new_set(INSTRUCTIONS, CPC_COUNT_USER);
	uint64_t count[COUNTERS + 1];

	(void)state;
	for (int i = 1; i < COUNTERS; i++)
		add(set, INSTRUCTIONS, CPC_COUNT_USER);
	add(set, "Cycle_cnt", CPC_COUNT_USER);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_exact(set, ARRAY_SIZE(count));
	measure(set, ROUNDS, ARRAY_SIZE(count), count);
	for (size_t i = 1; i < ARRAY_SIZE(count); i++)
		assert_int_equal(count[i], count[0]);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void too_many(void **state)
{
	cpc_set_t *set = new_set(INSTRUCTIONS, CPC_COUNT_USER);
	cpc_set_t *good = new_set(INSTRUCTIONS, CPC_COUNT_USER);

	(void)state;
	for (int i = 1; i < COUNTERS + 1; i++)
		add(set, INSTRUCTIONS, CPC_COUNT_USER);
	assert_int_equal(cpc_bind_curlwp(cpc, good, 0), 0);
	for (int i = 0; i < 2; i++) {
		memset(&last_error, 0, sizeof(last_error));
		if (i == 0)
			assert_int_equal(cpc_bind_curlwp(cpc, set, 0), -1);
		else
			assert_int_equal(cpc_bind_cpu(cpc, 0, set, 0), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(last_error.subcode, CPC_RESOURCE_UNAVAIL);
		assert_string_equal(last_error.fn, i == 0 ? "cpc_bind_curlwp" : "cpc_bind_cpu");
		assert_non_null(strstr(last_error.text, "the PMU has too few counters"));
	}
	/* The set that was bound before still counts. */
	assert_exact(good, 1);
	assert_int_equal(cpc_unbind(cpc, good), 0);
}

/* A shell under tests/work/hold-counters says when all counters are held, and waits for us. */
static pid_t start_holder(int *to, int *from)
{
	int in[2], out[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execlp("hold-counters", "hold-counters", "sh", "-c", "echo; read x", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = in[1];
	*from = out[0];
	assert_int_equal(read(*from, &c, 1), 1);
	return pid;
}

static void end_holder(pid_t pid, int to, int from)
{
	int status;

	close(to);
	close(from);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* The shell's read found no line; hold-counters would have reported a disturbance. */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* Binding fails with EAGAIN, or succeeds, and then each sample fails. */
static void assert_held(cpc_set_t *set, int bound)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	if (bound == 0) {
		assert_int_equal(cpc_set_sample(cpc, set, buf), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(cpc_unbind(cpc, set), 0);
	} else {
		assert_int_equal(errno, EAGAIN);
	}
	assert_int_equal(cpc_buf_destroy(cpc, buf), 0);
}

static void held_by_others(void **state)
{
	cpc_set_t *before = new_set("Instr_cnt", CPC_COUNT_USER);
	cpc_set_t *set = new_set("Instr_cnt", CPC_COUNT_USER);
	cpc_set_t *faults = new_set("page-faults", CPC_COUNT_USER);
	int to, from;
	pid_t pid;

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, before, 0), 0);
	assert_exact(before, 1);
	pid = start_holder(&to, &from);
	assert_held(before, 0);
	assert_held(set, cpc_bind_curlwp(cpc, set, 0));
	assert_held(set, cpc_bind_cpu(cpc, 0, set, 0));
	assert_held(set, cpc_bind_cpu(cpc, 0, set, CPC_BIND_CPU_REMOTE));
	/* Software events go on. */
	assert_int_equal(cpc_bind_curlwp(cpc, faults, 0), 0);
	assert_int_equal(cpc_unbind(cpc, faults), 0);
	end_holder(pid, to, from);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_exact(set, 1);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

/*
 * A child that was created by a raw system call has the files of its parent, but does not keep
 * counters that its parent unbinds.
 */
static void children(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);
	int end[2], status;
	pid_t pid;
	char c;

	(void)state;
	for (int i = 0; i < COUNTERS; i++)
		add(set, INSTRUCTIONS, CPC_COUNT_USER);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_int_equal(pipe(end), 0);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		close(end[1]);
		while (read(end[0], &c, 1) > 0)
			;
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	close(end[0]);
	close(end[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct {
	cpc_set_t *set;
	cpc_buf_t *buf;
	int signals, wrong;
} overflow;

#define PERIOD 100000

static void on_emt(int sig, siginfo_t *info, void *context)
{
	uint64_t cycles, instructions;

	(void)sig;
	(void)context;
	overflow.signals++;
	if (info->si_code != EMT_CPCOVF || info->si_addr < (void *)(uintptr_t)loop ||
	    info->si_addr > (void *)((uintptr_t)loop + 64) ||
	    cpc_set_sample(cpc, overflow.set, overflow.buf) == -1 ||
	    cpc_buf_get(cpc, overflow.buf, 0, &cycles) == -1 || cycles != 0 ||
	    cpc_buf_get(cpc, overflow.buf, 1, &instructions) == -1 || instructions != PERIOD ||
	    cpc_set_restart(cpc, overflow.set) == -1)
		overflow.wrong++;
}

/*
 * The counter of cycles overflows exactly, since here a cycle is an instruction; the other counts
 * are frozen at the same instant.  (QEMU interrupts late for the others.)
 */
static void overflows(void **state)
{
	const struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO};

	(void)state;
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	overflow.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, overflow.set, "0x11", UINT64_MAX - PERIOD + 1,
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 0);
	add(overflow.set, INSTRUCTIONS, CPC_COUNT_USER);
	overflow.buf = cpc_buf_create(cpc, overflow.set);
	assert_int_equal(cpc_bind_curlwp(cpc, overflow.set, 0), 0);
	loop(5000000);
	assert_int_equal(cpc_unbind(cpc, overflow.set), 0);
	assert_int_equal(overflow.wrong, 0);
	assert_int_equal(overflow.signals, 10000000 / PERIOD);
}

/* An event that overflows after PERIOD, buffered, and another one that is counted beside it. */
static cpc_set_t *bind_buffered(const char *event, const char *beside, uint_t flags)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_int_equal(cpc_set_add_request(cpc, set, event, UINT64_MAX - PERIOD + 1,
					     flags | CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED, 0,
					     NULL),
			 0);
	add(set, beside, flags);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	return set;
}

/*
 * The same, buffered: the counters go on, and each period has its record.  In the kernel, which
 * is not counted, the PC is still that of the loop.
 */
static void buffered_overflows(void **state)
{
	cpc_set_t *set = bind_buffered("0x11", INSTRUCTIONS, CPC_COUNT_USER);
	uint64_t pc[CPC_PCBUF_SIZE], cycles, instructions;
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	assert_int_equal(cpc_set_restart(cpc, set), 0);
	loop(5000000);
	assert_int_equal(cpc_set_sample_pcbuf(cpc, set, buf, pc), 0);
	assert_int_equal(cpc_buf_npcs(cpc, buf), 10000000 / PERIOD);
	assert_int_equal(cpc_buf_nlost(cpc, buf), 0);
	assert_int_equal(cpc_buf_nthrottled(cpc, buf), 0);
	for (size_t i = 0; i < 10000000 / PERIOD; i++)
		assert_in_range(pc[i], (uintptr_t)loop, (uintptr_t)loop + 64);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &cycles), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 1, &instructions), 0);
	assert_in_range(instructions, 10000000, 10000000 + PERIOD / 2);
	assert_int_equal(cycles, UINT64_MAX - PERIOD + 1 + instructions % PERIOD);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

/*
 * The kernel stops a clock, too, until the next tick if it overflows too often, and that is
 * reported.  The records and values have everything that it counted.
 */
static void buffered_clock(void **state)
{
	cpc_set_t *set =
		bind_buffered("task-clock", "task-clock", CPC_COUNT_USER | CPC_COUNT_SYSTEM);
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	uint64_t pc[CPC_PCBUF_SIZE], counted, beside;
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	unsigned long rate = 0;

	(void)state;
	assert_true(f != NULL && fscanf(f, "%lu", &rate) == 1 && fclose(f) == 0);
	loop(10000000); /* 20 ms */
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(cpc_set_sample_pcbuf(cpc, set, buf, pc), 0);
	assert_int_equal(cpc_buf_nlost(cpc, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &counted), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 1, &beside), 0);
	counted += (cpc_buf_npcs(cpc, buf) + 1) * PERIOD;
	if (rate * PERIOD >= 1000000000) {
		assert_int_equal(cpc_buf_nthrottled(cpc, buf), 0);
		/* A timer that comes a period late reports one overflow for two. */
		assert_in_range(counted, beside - PERIOD * 10, beside);
		assert_int_equal((beside - counted) % PERIOD, 0);
	} else {
		assert_true(cpc_buf_nthrottled(cpc, buf) > 0);
		assert_true(counted < beside);
	}
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_lwp, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(own_cpu, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(threads, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(inherited, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(modes, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(all_counters, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(too_many, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(held_by_others, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(children, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(overflows, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(buffered_overflows, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(buffered_clock, open_handle, close_handle),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
