/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Counting: known numbers of page faults are counted exactly.
 */
#include "faults.h"
#include "handle.h"

#include <dirent.h>
#include <errno.h>
#include <libcpc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#define PAGES 500

static cpc_set_t *faults(uint64_t preset)
{
	cpc_set_t *set = cpc_set_create(cpc);

	assert_int_equal(
		cpc_set_add_request(cpc, set, "page-faults", preset, CPC_COUNT_USER, 0, NULL), 0);
	assert_int_equal(cpc_set_add_request(cpc, set, "minor-faults", 0, CPC_COUNT_USER, 0, NULL),
			 1);
	return set;
}

static uint64_t get(cpc_buf_t *buf, int index)
{
	uint64_t val = 0;

	assert_int_equal(cpc_buf_get(cpc, buf, index, &val), 0);
	return val;
}

static void own_lwp(void **state)
{
	cpc_set_t *set = faults(0);
	cpc_buf_t *before = cpc_buf_create(cpc, set), *after = cpc_buf_create(cpc, set);
	cpc_buf_t *diff = cpc_buf_create(cpc, set);

	(void)state;
	touch(PAGES); /* faults in what the measured code itself needs */
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(cpc_set_sample(cpc, set, before), 0);
		touch(PAGES);
		assert_int_equal(cpc_set_sample(cpc, set, after), 0);
		assert_int_equal(cpc_buf_sub(cpc, diff, after, before), 0);
		if (i > 0) { /* the first round may fault in the buffers */
			assert_count(get(diff, 0), PAGES);
			assert_count(get(diff, 1), PAGES);
		}
		assert_true(cpc_buf_hrtime(cpc, after) > cpc_buf_hrtime(cpc, before));
	}
	assert_true(cpc_buf_tick(cpc, after) > 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_set_sample(cpc, set, after), -1);
	assert_int_equal(errno, EINVAL);
}

static void presets(void **state)
{
	cpc_set_t *set = faults(UINT64_MAX - 99);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	touch(PAGES);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	/* Wraps at 2^64: the count minus 100. */
	assert_int_equal(get(buf, 0), get(buf, 1) - 100);
	assert_true(get(buf, 1) >= PAGES);

	/* A new preset applies to the next bind. */
	assert_int_equal(cpc_set_request_preset(cpc, set, 0, 1000000), 0);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_true(get(buf, 0) < 1000000);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0); /* counts from 0 again */
	touch(PAGES);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(get(buf, 0), get(buf, 1) + 1000000);
	assert_true(get(buf, 1) >= PAGES && get(buf, 1) < 2 * PAGES);
}

static void one_set_per_lwp(void **state)
{
	cpc_set_t *first = faults(0), *second = faults(0);
	cpc_buf_t *buf = cpc_buf_create(cpc, first), *buf2 = cpc_buf_create(cpc, second);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, first, 0), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, second, 0), 0);
	assert_int_equal(cpc_set_sample(cpc, first, buf), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_set_sample(cpc, second, buf2), 0);
	assert_int_equal(cpc_unbind(cpc, first), -1);
	assert_int_equal(cpc_unbind(cpc, second), 0);
}

static void refusals_change_nothing(void **state)
{
	cpc_set_t *set = faults(0), *other = faults(0);
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	assert_int_equal(cpc_bind_cpu(cpc, 100000, other, 0), -1);
	assert_int_equal(cpc_bind_cpu(cpc, 100000, set, 0), -1);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0x4000), -1);
	touch(PAGES);
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_true(get(buf, 0) >= PAGES);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_unbind(cpc, other), -1);
}

#define MANY 8 /* more breakpoints than most CPUs have */

__attribute__((noinline)) static void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

/* A set that counts calls of hit(), `n` times. */
static cpc_set_t *calls(cpc_t *handle, size_t n)
{
	cpc_set_t *set = cpc_set_create(handle);
	char event[64];

	for (size_t i = 0; i < n; i++) {
		snprintf(event, sizeof(event), "breakpoint/addr=%p/", (void *)(uintptr_t)hit);
		assert_int_equal(
			cpc_set_add_request(handle, set, event, 0, CPC_COUNT_USER, 0, NULL), i);
	}
	return set;
}

static void assert_called_once(cpc_set_t *set)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	hit();
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(get(buf, 0), 1);
}

/* When another set replaces one, its counters are free again. */
static void breakpoints(void **state)
{
	cpc_t *another = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = NULL, *more;
	char number[32];
	size_t n = 0;

	(void)state;
	while (n < MANY && cpc_bind_curlwp(cpc, more = calls(cpc, n + 1), 0) == 0) {
		set = more;
		n++;
	}
	if (n == 0)
		skip_lacking("breakpoints");
	if (n == MANY)
		skip_because("this CPU has %zu breakpoints or more", n);
	/* The last request was one too many. */
	assert_int_equal(errno, EINVAL);
	snprintf(number, sizeof(number), "this CPU has %zu registers", n);
	assert_non_null(strstr(last_error.text, number));
	assert_called_once(set);

	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0); /* counts from 0 again */
	assert_called_once(set);
	more = calls(cpc, n);
	assert_int_equal(cpc_bind_curlwp(cpc, more, 0), 0);
	assert_called_once(more);

	/* So does a set of another handle. */
	assert_int_equal(cpc_bind_curlwp(another, calls(another, n), 0), 0);
	assert_int_equal(cpc_unbind(cpc, more), -1);
	cpc_close(another);
}

static cpc_set_t *handled;
static cpc_buf_t *sample;
static volatile sig_atomic_t sampled, unbound, wrong;

static void on_alarm(int sig)
{
	int err = errno;

	(void)sig;
	if (cpc_set_sample(cpc, handled, sample) == 0)
		sampled++;
	else if (errno == EINVAL)
		unbound++;
	else
		wrong++;
	errno = err;
}

/* A signal may come at any moment of binding and unbinding. */
static void samples_in_a_handler(void **state)
{
	const struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval often = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50};
	const struct itimerval never = {0};

	(void)state;
	handled = faults(0);
	sample = cpc_buf_create(cpc, handled);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (sampled < 1000 || unbound < 1000) {
		assert_int_equal(cpc_bind_curlwp(cpc, handled, 0), 0);
		assert_int_equal(cpc_bind_curlwp(cpc, handled, 0), 0);
		assert_int_equal(cpc_unbind(cpc, handled), 0);
	}
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(wrong, 0);
}

struct job {
	cpc_set_t *set;
	cpc_buf_t *buf, *before;
	int rc, err;
	bool cpu;
};

static void *sample_in_thread(void *arg)
{
	struct job *job = arg;

	job->rc = cpc_set_sample(cpc, job->set, job->buf);
	job->err = errno;
	return NULL;
}

static void *count_in_thread(void *arg)
{
	struct job *job = arg;

	touch(PAGES); /* faults in what this thread itself needs */
	job->rc = cpc_bind_curlwp(cpc, job->set, 0);
	job->rc |= cpc_set_sample(cpc, job->set, job->buf);
	job->rc |= cpc_set_sample(cpc, job->set, job->before);
	touch(PAGES);
	job->rc |= cpc_set_sample(cpc, job->set, job->buf);
	job->rc |= cpc_buf_sub(cpc, job->buf, job->buf, job->before);
	return NULL;
}

static void only_the_binder_samples(void **state)
{
	struct job job = {.set = faults(0)};
	pthread_t thread;
	int status;
	pid_t pid;

	(void)state;
	job.buf = cpc_buf_create(cpc, job.set);
	assert_int_equal(cpc_bind_curlwp(cpc, job.set, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, sample_in_thread, &job), 0);
	pthread_join(thread, NULL);
	assert_int_equal(job.rc, -1);
	assert_int_equal(job.err, EINVAL);

	/* A forked child is another LWP, although its thread-local data are those of the parent. */
	pid = fork();
	if (pid == 0) {
		sample_in_thread(&job);
		_exit(job.rc == -1 && job.err == EINVAL ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cpc_unbind(cpc, job.set), 0);
}

static void threads_share_the_handle(void **state)
{
	struct job jobs[8];
	pthread_t thread[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = (struct job){.set = faults(0)};
		jobs[i].buf = cpc_buf_create(cpc, jobs[i].set);
		jobs[i].before = cpc_buf_create(cpc, jobs[i].set);
		assert_int_equal(pthread_create(&thread[i], NULL, count_in_thread, &jobs[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(jobs[i].rc, 0);
		assert_count(get(jobs[i].buf, 0), PAGES);
	}
}

static void *bind_and_end(void *arg)
{
	struct job *job = arg;

	job->rc = job->cpu ? cpc_bind_cpu(cpc, sched_getcpu(), job->set, CPC_BIND_CPU_SHARED)
			   : cpc_bind_curlwp(cpc, job->set, 0);
	job->err = errno;
	return NULL;
}

/* The end of an LWP unbinds its set, since no other LWP may sample it. */
static void ends_of_lwps_unbind(void **state)
{
	struct job jobs[50];
	pthread_t thread;
	int files;

	(void)state;
	for (int cpu = 0; cpu < 2; cpu++) {
		files = count_files();
		for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
			jobs[i] = (struct job){.set = faults(0), .cpu = cpu != 0};
			assert_int_equal(pthread_create(&thread, NULL, bind_and_end, &jobs[i]), 0);
			pthread_join(thread, NULL);
			if (jobs[i].rc == -1 && jobs[i].cpu && jobs[i].err == EACCES)
				skip_because("whole CPUs may not be counted here");
			assert_int_equal(jobs[i].rc, 0);
		}
		assert_int_equal(count_files(), files);
		assert_int_equal(cpc_unbind(cpc, jobs[0].set), -1);
		assert_int_equal(cpc_bind_curlwp(cpc, jobs[0].set, 0), 0);
		assert_int_equal(cpc_unbind(cpc, jobs[0].set), 0);
	}
}

static void no_hardware(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	assert_int_equal(cpc_set_add_request(cpc, set, "cycles", 0, CPC_COUNT_USER, 0, NULL), 0);
	if (cpc_bind_curlwp(cpc, set, 0) == 0) {
		cpc_unbind(cpc, set);
		skip_because("this machine has hardware counters");
	}
	assert_int_equal(errno, EINVAL);
	assert_string_equal(last_error.text,
			    "cannot count 'cycles': the kernel has no hardware counters on "
			    "this machine (a virtual machine without a PMU, perhaps); "
			    "software events and tracepoints can be counted");
}

static int first_cpu(void)
{
	cpu_set_t mask;

	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	for (size_t i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &mask))
			return (int)i;
	}
	return -1;
}

static void cpus(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);
	cpc_buf_t *buf;
	cpu_set_t old, now;
	int cpu = first_cpu();

	(void)state;
	assert_int_equal(
		cpc_set_add_request(cpc, set, "context-switches", 0, CPC_COUNT_SYSTEM, 0, NULL), 0);
	buf = cpc_buf_create(cpc, set);
	assert_int_equal(cpc_bind_cpu(cpc, -1, set, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_bind_cpu(cpc, cpu, set, 1), -1);
	assert_int_equal(errno, EINVAL);
	if (cpc_bind_cpu(cpc, cpu, set, 0) == -1 && errno == EACCES)
		skip_because("whole CPUs may not be counted here: %s", last_error.text);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_bind_cpu(cpc, 100000, set, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_string_equal(last_error.text, "no CPU 100000");

	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	assert_int_equal(cpc_bind_cpu(cpc, cpu, set, 0), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_int_equal(CPU_COUNT(&now), 1);
	assert_true(CPU_ISSET((size_t)cpu, &now));
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&old, &now));

	assert_int_equal(cpc_bind_cpu(cpc, cpu, set, CPC_BIND_CPU_REMOTE), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&old, &now));
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_lwp, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(presets, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(one_set_per_lwp, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(refusals_change_nothing, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(breakpoints, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(samples_in_a_handler, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(only_the_binder_samples, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(threads_share_the_handle, open_handle,
						close_handle),
		cmocka_unit_test_setup_teardown(ends_of_lwps_unbind, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(no_hardware, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(cpus, open_handle, close_handle),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
