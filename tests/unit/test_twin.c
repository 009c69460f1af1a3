/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * One set that several LWPs bind to themselves: each has counters of its own.
 */
#include "faults.h"
#include "handle.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define LWPS 4

static cpc_set_t *set;
static pthread_barrier_t barrier;

static int setup(void **state)
{
	if (open_handle(state) == -1)
		return -1;
	set = cpc_set_create(cpc);
	pthread_barrier_init(&barrier, NULL, LWPS);
	return cpc_set_add_request(cpc, set, "page-faults", 7, CPC_COUNT_USER, 0, NULL);
}

static int teardown(void **state)
{
	pthread_barrier_destroy(&barrier);
	return close_handle(state);
}

static void bind(uint_t flags)
{
	assert_int_equal(cpc_bind_curlwp(cpc, set, flags), 0);
}

static uint64_t sample(cpc_buf_t *buf)
{
	uint64_t val;

	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &val), 0);
	return val;
}

/* What the calling LWP counts while it causes so many faults.  The first samples fault, too. */
static uint64_t count(size_t pages)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	uint64_t before, after;

	sample(buf);
	before = sample(buf);
	touch(pages);
	after = sample(buf);
	assert_int_equal(cpc_buf_destroy(cpc, buf), 0);
	return after - before;
}

static void run(void *(*start)(void *arg), size_t n)
{
	pthread_t thread[LWPS];

	for (size_t i = 0; i < n; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, start, (void *)(i + 1)), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
}

/* ---- counts ------------------------------------------------------------------------------ */

static cpc_buf_t *sum;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* LWP i binds, waits until all have, counts i * 1000 faults, and adds them to the sum. */
static void *count_own(void *arg)
{
	const size_t pages = (uintptr_t)arg * 1000;
	cpc_buf_t *before = cpc_buf_create(cpc, set), *after = cpc_buf_create(cpc, set);

	bind(0);
	assert_true(sample(after) >= 7); /* the preset, and faults of its own */
	pthread_barrier_wait(&barrier);
	sample(before);
	sample(before);
	touch(pages);
	sample(after);
	pthread_barrier_wait(&barrier);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_set_sample(cpc, set, after), -1);
	assert_int_equal(errno, EINVAL);
	pthread_mutex_lock(&mutex);
	assert_int_equal(cpc_buf_sub(cpc, after, after, before), 0);
	assert_int_equal(cpc_buf_add(cpc, sum, sum, after), 0);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void each_its_own(void **state)
{
	uint64_t val;

	(void)state;
	sum = cpc_buf_create(cpc, set);
	for (int i = 0; i < 3; i++) {
		cpc_buf_zero(cpc, sum);
		run(count_own, LWPS);
		assert_int_equal(cpc_buf_get(cpc, sum, 0, &val), 0);
		assert_count(val, 10000);
	}
}

/* Binds again, also after the set has got another request, while this LWP keeps it bound. */
static void *bind_again(void *arg)
{
	(void)arg;
	bind(0);
	assert_count(count(100), 100);
	bind(0);
	assert_count(count(100), 100);
	return NULL;
}

static void again(void **state)
{
	(void)state;
	bind(0);
	run(bind_again, 1);
	assert_count(count(200), 200);
	run(bind_again, 2);
	assert_count(count(200), 200);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_set_add_request(cpc, set, "minor-faults", 0, CPC_COUNT_USER, 0, NULL),
			 1);
	bind(0);
	run(bind_again, 2);
	assert_count(count(200), 200);
}

/* LWPs of a pool bind the set for each of their tasks. */
static void *work(void *arg)
{
	const size_t pages = 10 + (uintptr_t)arg;

	for (int task = 0; task < 20; task++) {
		bind(0);
		assert_count(count(pages), pages);
		assert_int_equal(cpc_unbind(cpc, set), 0);
	}
	return NULL;
}

static void pool(void **state)
{
	(void)state;
	run(work, LWPS);
}

/* ---- calls that act on the caller's counters ------------------------------------------------- */

static void *switch_off(void *arg)
{
	(void)arg;
	bind(CPC_BIND_DISABLED);
	assert_int_equal(cpc_set_enabled(cpc, set), 0);
	assert_int_equal(count(50), 0);
	assert_int_equal(cpc_enable(cpc), 0);
	assert_count(count(50), 50);
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(count(50), 0);
	return NULL;
}

static void enable(void **state)
{
	(void)state;
	bind(0);
	run(switch_off, 1);
	assert_int_equal(cpc_set_enabled(cpc, set), 1);
	assert_count(count(100), 100);
}

static _Thread_local volatile sig_atomic_t signals;

static void on_emt(int sig)
{
	(void)sig;
	signals++;
	cpc_request_preset(cpc, 0, UINT64_MAX - 9);
	cpc_set_restart(cpc, set);
}

/* A signal for each 10 faults of its own. */
static void *overflow(void *arg)
{
	const int n = (int)(uintptr_t)arg * 10;

	touch(1);
	bind(0);
	pthread_barrier_wait(&barrier);
	touch((size_t)n * 10);
	assert_int_equal(signals, n);
	return NULL;
}

static void overflows(void **state)
{
	const struct sigaction act = {.sa_handler = on_emt};

	(void)state;
	skip_under_tsan("keeps signals");
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, set, "page-faults", UINT64_MAX - 9,
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 0);
	run(overflow, LWPS);
}

/* ---- inheritance -------------------------------------------------------------------------------
 */

static void *inherited(void *arg)
{
	assert_count(count((uintptr_t)arg), (uintptr_t)arg);
	return NULL;
}

static void *inherit(void *arg)
{
	cpc_buf_t *all = cpc_buf_create(cpc, set);
	uint64_t before, after;
	pthread_t thread;

	bind(CPC_BIND_LWP_INHERIT);
	assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
	assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
	assert_int_equal(cpc_buf_get(cpc, all, 0, &before), 0);
	assert_int_equal(pthread_create(&thread, NULL, inherited, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
	assert_int_equal(cpc_buf_get(cpc, all, 0, &after), 0);
	/* The creation of a thread faults, too. */
	assert_in_range(after - before, (uintptr_t)arg, (uintptr_t)arg + (UNDER_TSAN ? 1000 : 100));
	assert_int_equal(cpc_unbind(cpc, set), 0);
	return NULL;
}

static void *inherit_beside(void *arg)
{
	(void)arg;
	bind(0);
	return inherit((void *)5000);
}

static void families(void **state)
{
	(void)state;
	bind(CPC_BIND_LWP_INHERIT);
	run(inherit_beside, 1);
	assert_count(count(300), 300);
	inherit((void *)3000);
}

static void *leave_family(void *arg)
{
	(void)arg;
	bind(CPC_BIND_LWP_INHERIT);
	touch(50);
	return NULL;
}

/* Sets that LWPs could inherit, and that none has when their LWPs exit. */
static void left_families(void **state)
{
	int files;

	(void)state;
	bind(CPC_BIND_LWP_INHERIT);
	run(leave_family, LWPS);
	files = count_files();
	for (int i = 0; i < 100; i++)
		run(leave_family, LWPS);
	assert_int_equal(count_files(), files);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	/* Now that of the set itself. */
	run(leave_family, 1);
	bind(0);
	assert_count(count(100), 100);
	assert_int_equal(cpc_unbind(cpc, set), 0);
}

static void *ask_for_sum(void *arg)
{
	cpc_buf_t *all = cpc_buf_create(cpc, set);

	(void)arg;
	assert_int_equal(cpc_set_sample_all(cpc, set, all), 0);
	bind(0);
	assert_int_equal(cpc_set_sample_all(cpc, set, all), -1);
	assert_int_equal(errno, EINVAL);
	return NULL;
}

static void sum_of_others(void **state)
{
	(void)state;
	bind(CPC_BIND_LWP_INHERIT);
	run(ask_for_sum, 1);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void *leave(void *arg)
{
	bind(0);
	assert_count(count((uintptr_t)arg), (uintptr_t)arg);
	return NULL;
}

static void exits(void **state)
{
	int files;

	(void)state;
	bind(0);
	run(leave, LWPS);
	files = count_files();
	for (int i = 0; i < 100; i++)
		run(leave, LWPS);
	assert_int_equal(count_files(), files);
	assert_count(count(100), 100);
}

/* Unbinds twice, as some do, while the first LWP counts. */
static void *unbind_twice(void *arg)
{
	(void)arg;
	assert_int_equal(cpc_unbind(cpc, set), 0); /* of the first LWP, while no other has one */
	bind(0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_unbind(cpc, set), -1);
	assert_int_equal(errno, EINVAL);
	return NULL;
}

static void *bind_between(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&barrier);
	bind(0);
	assert_int_equal(cpc_set_add_request(cpc, set, "dummy", 0, CPC_COUNT_USER, 0, NULL), -1);
	pthread_barrier_wait(&barrier);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	return NULL;
}

static void each_unbinds(void **state)
{
	pthread_t thread[2];

	(void)state;
	pthread_barrier_destroy(&barrier);
	pthread_barrier_init(&barrier, NULL, 2);
	bind(0);
	pthread_create(&thread[0], NULL, unbind_twice, NULL);
	pthread_create(&thread[1], NULL, bind_between, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	bind(0);
	run(leave, 1);
	assert_count(count(10), 10);
}

static void *bind_to_cpu(void *arg)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)arg;
	bind(0);
	if (cpc_bind_cpu(cpc, 0, set, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == -1)
		return NULL; /* not permitted, or CPU 0 is offline */
	touch(10);
	assert_true(cpc_set_sample(cpc, set, buf) == 0);
	/* It is one binding, the CPU's. */
	assert_int_equal(cpc_unbind(cpc, set), 0);
	assert_int_equal(cpc_set_sample(cpc, set, buf), -1);
	assert_int_equal(cpc_unbind(cpc, set), -1);
	return NULL;
}

static void to_cpu(void **state)
{
	(void)state;
	bind(0);
	run(bind_to_cpu, 1);
}

/* A child has exactly the sets and buffers that its parent had. */
static atomic_bool ends;

static void *create_and_destroy(void *arg)
{
	cpc_set_t *base = cpc_set_create(cpc);

	(void)arg;
	while (!ends) {
		cpc_set_t *one = cpc_set_create(cpc);

		cpc_buf_destroy(cpc, cpc_buf_create(cpc, base));
		cpc_set_destroy(cpc, one);
	}
	return NULL;
}

static void forks_beside(void **state)
{
	pthread_t thread;
	int status;

	(void)state;
	skip_under_tsan("knows no threads of a child");
	ends = false;
	assert_int_equal(pthread_create(&thread, NULL, create_and_destroy, NULL), 0);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(60);
			_exit(cpc_close(cpc));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	ends = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Destroys the set that all LWPs have bound. */
static void *lose(void *arg)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);

	(void)arg;
	bind(0);
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		assert_int_equal(cpc_set_destroy(cpc, set), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(cpc_set_sample(cpc, set, buf), -1);
	assert_int_equal(errno, EINVAL);
	pthread_mutex_lock(&mutex); /* the error handler has a static message */
	assert_int_equal(cpc_unbind(cpc, set), -1);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void destroyed(void **state)
{
	int files = count_files();

	(void)state;
	run(lose, LWPS);
	assert_int_equal(count_files(), files);
}

static void *fork_with_twin(void *arg)
{
	int status;
	pid_t pid;

	(void)arg;
	bind(0);
	pid = fork();
	if (pid == 0) {
		cpc_buf_t *buf = cpc_buf_create(cpc, set);
		bool unbound = cpc_set_sample(cpc, set, buf) == -1 && errno == EINVAL;

		_exit(unbound && cpc_bind_curlwp(cpc, set, 0) == 0 &&
				      cpc_set_sample(cpc, set, buf) == 0 && cpc_close(cpc) == 0
			      ? 0
			      : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	count(1); /* pages of the stack are copied when they are written to after the fork */
	assert_count(count(100), 100);
	return NULL;
}

static void forks(void **state)
{
	(void)state;
	bind(0);
	run(fork_with_twin, 1);
	count(1);
	assert_count(count(100), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(again, setup, teardown),
		cmocka_unit_test_setup_teardown(pool, setup, teardown),
		cmocka_unit_test_setup_teardown(enable, setup, teardown),
		cmocka_unit_test_setup_teardown(overflows, setup, teardown),
		cmocka_unit_test_setup_teardown(families, setup, teardown),
		cmocka_unit_test_setup_teardown(left_families, setup, teardown),
		cmocka_unit_test_setup_teardown(sum_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(exits, setup, teardown),
		cmocka_unit_test_setup_teardown(each_unbinds, setup, teardown),
		cmocka_unit_test_setup_teardown(to_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(forks_beside, setup, teardown),
		cmocka_unit_test_setup_teardown(destroyed, setup, teardown),
		cmocka_unit_test_setup_teardown(forks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
