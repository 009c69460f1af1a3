/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * CPC_BIND_LWP_INHERIT: every LWP sees its own counts, and the sum has them all.
 */
#include "inherit.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>

/* Fewer on one CPU, as in the emulated machine. */
static unsigned nshort = 10000;
static int rounds = 100;

static void hundred(void **state)
{
	uint64_t parts = 0, own;
	cpc_buf_t *buf;
	int wait[2];

	(void)state;
	assert_int_equal(pipe(wait), 0);
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	bind(0);
	warm_up();
	sample_all(buf); /* whose code is in memory from now on */
	/* Those of the threads that are gone.  The faults of a sanitizer come between the two. */
	parts = sample_all(buf);
	parts -= sample(buf);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct job){.pages = i + 1, .wait = wait[0], .rc = 1};
		start(&jobs[i]);
	}
	close(wait[1]);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		finish(&jobs[i]);
		assert_int_equal(jobs[i].rc, 0);
		assert_count(jobs[i].last - jobs[i].first, i + 1);
		parts += jobs[i].total;
	}
	close(wait[0]);
	own = sample(buf);
	assert_count(sample_all(buf), own + parts);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	errno = 0;
	assert_int_equal(sample_all(buf), UINT64_MAX);
	assert_int_equal(errno, EINVAL);
}

/* Each in turn creates the next one; all inherit from the first. */
static void nested(void **state)
{
	uint64_t parts, own;
	cpc_buf_t *buf;

	(void)state;
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	bind(0);
	warm_up();
	parts = sample_all(buf);
	parts -= sample(buf);
	for (size_t i = 0; i < 5; i++)
		jobs[i] = (struct job){.pages = 10 * (i + 1),
				       .wait = -1,
				       .buf = cpc_buf_create(cpc, set),
				       .child = i < 4 ? &jobs[i + 1] : NULL};
	start(&jobs[0]);
	finish(&jobs[0]);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(jobs[i].rc, 0);
		assert_true(jobs[i].last - jobs[i].first >= 10 * (i + 1));
		parts += jobs[i].total;
	}
	own = sample(buf);
	assert_count(sample_all(buf), own + parts);
}

/* Values begin at the preset, and the sum has it once. */
static void presets(void **state)
{
	struct job job = {.pages = 7, .wait = -1};
	cpc_buf_t *buf;
	uint64_t faults, val;

	(void)state;
	add("page-faults", 1000000, 0);
	add("faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	bind(0);
	/* The preset applies to the next bind. */
	assert_int_equal(cpc_set_request_preset(cpc, set, 0, 5), 0);
	for (int i = 0; i < 3; i++) {
		start(&job);
		finish(&job);
		assert_count(job.last - job.first, 7);
		assert_true(job.first >= 1000000 && job.first < 1000100);
	}
	val = sample_all(buf);
	assert_int_equal(cpc_buf_get(cpc, buf, 1, &faults), 0);
	assert_int_equal(val, 1000000 + faults);
	assert_true(faults >= 3 * 7);
}

static void counted(void)
{
	__asm__ volatile("");
}

static void (*volatile call)(void) = counted;

/* Counting begins at the first instruction of the start routine and includes destructors. */
static pthread_key_t in_rounds;

static void destroy(void *arg)
{
	uintptr_t left = (uintptr_t)arg;

	call();
	if (left > 1)
		pthread_setspecific(in_rounds, (void *)(left - 1));
}

enum end { RETURN, EXIT, CANCEL, C11_RETURN, NENDS };

__attribute__((noinline)) static void *call_and_end(void *arg)
{
	call();
	if (pthread_setspecific(in_rounds, (void *)2) != 0)
		return arg;
	if (*(enum end *)arg == EXIT)
		pthread_exit(NULL);
	while (*(enum end *)arg == CANCEL)
		pause();
	return NULL;
}

static int call_and_return(void *arg)
{
	return call_and_end(arg) == NULL ? 17 : -1;
}

static void first_and_last_calls(void **state)
{
	cpc_buf_t *buf;
	char event[64];

	(void)state;
	snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=x/",
		 (void *)(uintptr_t)counted);
	add(event, 0, 0);
	snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=x/",
		 (void *)(uintptr_t)call_and_end);
	add(event, 0, 0);
	buf = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		skip_lacking("breakpoints");
	assert_int_equal(pthread_key_create(&in_rounds, destroy), 0);
	for (enum end how = RETURN; how < NENDS - NO_C11; how++) {
		enum end end = how;
		uint64_t before = sample_all(buf), starts;
		pthread_t thread;
		thrd_t c11;
		int result;

		if (how == C11_RETURN) {
			assert_int_equal(thrd_create(&c11, call_and_return, &end), thrd_success);
			assert_int_equal(thrd_join(c11, &result), thrd_success);
			assert_int_equal(result, 17);
		} else {
			assert_int_equal(pthread_create(&thread, NULL, call_and_end, &end), 0);
			if (how == CANCEL)
				pthread_cancel(thread);
			pthread_join(thread, NULL);
		}
		assert_int_equal(sample_all(buf), before + 1 + 2);
		assert_int_equal(cpc_buf_get(cpc, buf, 1, &starts), 0);
		assert_int_equal(starts, how + 1);
		assert_int_equal(sample(buf), 0);
	}
	pthread_key_delete(in_rounds);
}

/* A thread disables, enables and unbinds its own copy only; its counts stay in the sum. */
__attribute__((unused)) static void *switch_and_unbind(void *arg)
{
	struct job *job = arg;
	uint64_t val, all;

	val = sample(job->buf);
	if (cpc_set_enabled(cpc, set) != 1 || cpc_disable(cpc) == -1 ||
	    cpc_set_enabled(cpc, set) != 0)
		return arg;
	val = sample(job->buf);
	touch(50);
	if (sample(job->buf) != val || cpc_enable(cpc) == -1)
		return arg;
	touch(5);
	job->last = sample(job->buf);
	if (job->last < val + 5 || job->last >= val + 50 || cpc_unbind(cpc, set) == -1)
		return arg;
	sample_all(job->buf);
	all = sample_all(job->buf);
	touch(50);
	if (all < job->last || sample_all(job->buf) != all)
		return arg;
	job->rc = cpc_set_sample(cpc, set, job->buf);
	job->err = errno;
	if (cpc_unbind(cpc, set) == 0) /* that of the binder */
		return NULL;
	return arg;
}

static void own_copy(void **state)
{
	struct job job = {.wait = -1};
	cpc_buf_t *buf;

	(void)state;
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	bind(0);
	warm_up();
	job.buf = cpc_buf_create(cpc, set);
	assert_int_equal(pthread_create(&job.thread, NULL, switch_and_unbind, &job), 0);
	finish(&job);
	assert_int_equal(job.rc, -1);
	assert_int_equal(job.err, EINVAL);
	errno = 0;
	assert_int_equal(sample(buf), UINT64_MAX);
	assert_int_equal(errno, EINVAL);
}

/* After any number of threads, no memory or file of them remains. */
static void short_threads(void **state)
{
	struct job job = {.wait = -1};
	int files = count_files();
	cpc_buf_t *buf;
	uint64_t before, more = 0;
	size_t memory;

	(void)state;
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	job.buf = cpc_buf_create(cpc, set);
	bind(0);
	job.pages = 1;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(pthread_create(&job.thread, NULL, work, &job), 0);
		finish(&job);
	}
	memory = mallinfo2().uordblks;
	before = sample_all(buf) - sample(buf);
	for (unsigned i = 0; i < nshort; i++) {
		assert_int_equal(pthread_create(&job.thread, NULL, work, &job), 0);
		finish(&job);
		assert_true(job.last > job.first);
		more += job.last - job.first - 1;
	}
	/* The kernel may reclaim or move a page, which is one more fault. */
	if (!UNDER_TSAN)
		assert_true(more <= nshort / 1000);
	assert_int_equal(cpc_set_ncopies(cpc, set), 0);
	/* The caches of malloc(3) take a few chunks. */
	assert_true(mallinfo2().uordblks < memory + nshort);
	assert_true(sample_all(buf) - sample(buf) >= before + nshort);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(count_files(), files);
}

/* A thread without counters runs, and is reported as missing. */
static void no_files(void **state)
{
	struct rlimit limit, few;
	struct job job = {0};
	cpc_buf_t *buf;
	int wait[2];

	(void)state;
	assert_int_equal(pipe(wait), 0);
	job.wait = wait[0];
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	bind(0);
	warm_up();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(close((int)few.rlim_cur), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	start(&job);
	while (sample_all(buf) != UINT64_MAX)
		sched_yield();
	assert_int_equal(errno, EAGAIN); /* while the thread runs */
	close(wait[1]);
	finish(&job);
	close(wait[0]);
	job.wait = -1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(job.rc, -1);
	assert_int_equal(job.err, EAGAIN);
	assert_string_equal(job.lost, strerror(EMFILE));
	errno = 0;
	assert_int_equal(sample_all(buf), UINT64_MAX);
	assert_int_equal(errno, EAGAIN);
	assert_true(sample(buf) != UINT64_MAX);
	/* New threads count, but the sum stays unknown until the set is bound again. */
	start(&job);
	finish(&job);
	assert_int_equal(job.rc, 0);
	assert_int_equal(sample_all(buf), UINT64_MAX);
	bind(0);
	assert_true(sample_all(buf) != UINT64_MAX);
}

/* A probe of sys/sdt.h in one place of this file, as its note describes it. */
static __attribute__((noinline)) void fire(void)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, 0, 0\n"
			 ".asciz \"cpc\"\n.asciz \"inherited\"\n.asciz \"\"\n"
			 "994: .balign 4\n.popsection\n");
}

static void *fire_five_times(void *arg)
{
	for (int i = 0; i < 5; i++)
		fire();
	return arg;
}

/* A probe has a counter per site, most of which do not exist. */
static void probes(void **state)
{
	pthread_t thread;
	cpc_buf_t *buf;
	int file;

	(void)state;
	if (cpc_set_add_request(cpc, set, "sdt/cpc:inherited/", 0, CPC_COUNT_USER, 0, NULL) == -1)
		skip_because("no probes here: %s", last_error.text);
	buf = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		skip_lacking("probes");
	fire();
	assert_int_equal(sample_all(buf), 1);
	/* The set keeps its files for LWPs to come. */
	assert_int_equal(cpc_set_resolve(cpc, set), 0);
	file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pthread_create(&thread, NULL, fire_five_times, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(sample_all(buf), 1 + 5);
	assert_true(cpc_buf_tick(cpc, buf) > 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(close(file), 0);
}

/* ---- the end, at any time ------------------------------------------------------------------ */

static atomic_bool over;

/* Samples until another LWP unbinds the set. */
static void *sample_until_unbound(void *arg)
{
	struct job *job = arg;
	uint64_t last = 0, val;

	for (;;) {
		val = sample(job->buf);
		if (val == UINT64_MAX)
			break;
		if (val < last)
			return arg;
		last = val;
		sched_yield();
	}
	return errno == EINVAL || errno == EAGAIN ? NULL : arg;
}

static void *unbind_often(void *arg)
{
	(void)arg;
	while (!over) {
		cpc_unbind(cpc, set);
		sched_yield();
	}
	return NULL;
}

/* While threads are born, sample, and end, the set is unbound and bound. */
static void unbound_meanwhile(void **state)
{
	int files = count_files();
	pthread_t other;
	cpc_buf_t *buf;

	(void)state;
	add("page-faults", 0, 0);
	buf = cpc_buf_create(cpc, set);
	for (size_t i = 0; i < 10; i++)
		jobs[i] = (struct job){.buf = cpc_buf_create(cpc, set)};
	over = false;
	assert_int_equal(pthread_create(&other, NULL, unbind_often, NULL), 0);
	for (int round = 0; round < rounds; round++) {
		bind(0);
		for (size_t i = 0; i < 10; i++)
			assert_int_equal(pthread_create(&jobs[i].thread, NULL, sample_until_unbound,
							&jobs[i]),
					 0);
		if (sample_all(buf) == UINT64_MAX)
			assert_int_equal(errno, EINVAL);
		for (size_t i = 0; i < 10; i++)
			finish(&jobs[i]);
	}
	over = true;
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(count_files(), files);
}

/* A forked child has no set and no counters. */
static void *fork_it(void *arg)
{
	struct job *job = arg;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (cpc_set_sample(cpc, set, job->buf) != -1 || errno != EINVAL)
			_exit(1);
		if (cpc_unbind(cpc, set) != -1)
			_exit(2);
		_exit(count_files() == job->rc ? 0 : 3);
	}
	return waitpid(pid, &status, 0) == pid && status == 0 && sample(job->buf) != UINT64_MAX
		       ? NULL
		       : arg;
}

static void forked(void **state)
{
	struct job job = {.wait = -1};
	int wait[2];

	(void)state;
	assert_int_equal(pipe(wait), 0);
	job.rc = count_files();
	add("page-faults", 0, 0);
	bind(0);
	job.buf = cpc_buf_create(cpc, set);
	jobs[0] = (struct job){.wait = wait[0]};
	start(&jobs[0]);
	assert_int_equal(pthread_create(&job.thread, NULL, fork_it, &job), 0);
	finish(&job);
	close(wait[1]);
	finish(&jobs[0]);
	close(wait[0]);
}

/* ---- what is refused --------------------------------------------------------------------- */

static void assert_refused(int rc, int err)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, err);
}

static atomic_int parked;

static void *stranger(void *arg)
{
	struct job *job = arg;

	while (parked != 0)
		sched_yield();
	job->rc = cpc_set_sample(cpc, set, job->buf);
	job->err = errno;
	return NULL;
}

static void refused(void **state)
{
	cpc_set_t *other = cpc_set_create(cpc);
	struct job job = {.wait = -1};
	cpc_buf_t *buf;

	(void)state;
	add("page-faults", 0, 0);
	job.buf = cpc_buf_create(cpc, set);
	parked = 1;
	assert_int_equal(pthread_create(&job.thread, NULL, stranger, &job), 0);
	assert_refused(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT | CPC_BIND_LATE), EINVAL);
	assert_refused(cpc_bind_cpu(cpc, 0, set, CPC_BIND_LWP_INHERIT), EINVAL);
	buf = cpc_buf_create(cpc, other);
	assert_refused(cpc_set_sample_all(cpc, set, job.buf), EINVAL);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_refused(cpc_set_sample_all(cpc, set, job.buf), EINVAL);
	bind(0);
	assert_refused(cpc_set_sample_all(cpc, set, buf), EINVAL);
	/* The thread started before the set was bound. */
	parked = 0;
	finish(&job);
	assert_refused(job.rc, job.err);
	assert_int_equal(job.err, EINVAL);
	assert_int_equal(cpc_set_destroy(cpc, other), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hundred, setup, close_handle),
		cmocka_unit_test_setup_teardown(nested, setup, close_handle),
		cmocka_unit_test_setup_teardown(presets, setup, close_handle),
		cmocka_unit_test_setup_teardown(first_and_last_calls, setup, close_handle),
		cmocka_unit_test_setup_teardown(own_copy, setup, close_handle),
		cmocka_unit_test_setup_teardown(short_threads, setup, close_handle),
		cmocka_unit_test_setup_teardown(no_files, setup, close_handle),
		cmocka_unit_test_setup_teardown(unbound_meanwhile, setup, close_handle),
		cmocka_unit_test_setup_teardown(forked, setup, close_handle),
		cmocka_unit_test_setup_teardown(refused, setup, close_handle),
		/* Last: its files are closed some time later, and others count files. */
		cmocka_unit_test_setup_teardown(probes, setup, close_handle),
	};

	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		nshort = 300;
		rounds = 5;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
