/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libpctx out of memory: each lost LWP is reported, and no LWP stays stopped.
 *
 * The tracked program is this one.  It is run again and again, each time with another
 * range of the library's allocations failing.
 */
#include "unit.h"

#include <errno.h>
#include <libpctx.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NTHREADS 3
#define NCHILDREN 3

static int ncalls, fail_from, fail_to; /* which calls fail, from 1 */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);

/* The linker replaces malloc(3) and calloc(3) by these, see CMakeLists.txt; they must be visible.
 */
__attribute__((visibility("default"))) void *__wrap_malloc(size_t size);
__attribute__((visibility("default"))) void *__wrap_calloc(size_t n, size_t size);

static bool fails(void)
{
	ncalls++;
	if (ncalls < fail_from || ncalls >= fail_to)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

/* ---- the tracked program -------------------------------------------------- */

static void *do_nothing(void *arg)
{
	return arg;
}

static int live(void)
{
	pthread_t thread[NTHREADS];
	pid_t pid;
	int status;

	for (int i = 0; i < NTHREADS; i++) {
		if (pthread_create(&thread[i], NULL, do_nothing, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < NTHREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < NCHILDREN; i++) {
		pid = fork();
		if (pid == 0)
			_exit(5);
		if (waitpid(pid, &status, 0) != pid || status != 5 << 8)
			return 2;
	}
	return 7;
}

/* ---- the handlers ----------------------------------------------------------- */

struct count {
	int threads, children, lost_threads, lost_children, told, ended;
	pid_t pid;
};

static int on_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pctx;
	(void)pid;
	((struct count *)arg)->threads += lwp != 1;
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg)
{
	(void)pid;
	(void)lwp;
	(void)child;
	((struct count *)arg)->children++;
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg)
{
	struct count *count = arg;

	(void)pctx;
	(void)lwp;
	assert_int_equal(status, pid == count->pid ? 7 << 8 : 5 << 8);
	count->ended++;
}

static void on_lost(pctx_t *pctx, pid_t pid, pid_t tid, void *arg)
{
	struct count *count = arg;

	assert_int_equal(pctx_pid(pctx), count->pid);
	if (pid == tid)
		count->lost_children++;
	else
		count->lost_threads++;
	assert_true(pid == tid || pid == count->pid);
}

static struct count *telling;

static void on_error(const char *fn, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	assert_non_null(strstr(text, strerror(ENOMEM)));
	if (strcmp(fn, "run") == 0 && strncmp(text, "cannot follow ", 14) == 0)
		telling->told++;
}

/* Tracks the program while those calls fail.  Was it started? */
static bool track(int from, int to, struct count *count)
{
	static char self[] = "/proc/self/exe", what[] = "live";
	char *argv[] = {self, what, NULL};
	int status = -1;
	pctx_t *pctx;

	*count = (struct count){0};
	telling = count;
	ncalls = 0;
	fail_from = from;
	fail_to = to;
	pctx = pctx_create(self, argv, count, 0, on_error);
	if (pctx == NULL) {
		assert_int_equal(errno, ENOMEM);
		return false;
	}
	count->pid = pctx_pid(pctx);
	pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init, PCTX_SYSC_FORK_EVENT, on_fork,
			PCTX_SYSC_EXIT_EVENT, on_exit_proc, PCTX_LOST_EVENT, on_lost,
			PCTX_NULL_EVENT);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	assert_int_equal(pctx_wait(pctx, &status), 0);
	pctx_release(pctx);
	assert_int_equal(status, 7 << 8);
	return true;
}

static void each_call_fails(void **state)
{
	static const int lengths[] = {1, 3, 1000};
	struct count count;
	int n, started = 0, lost = 0;

	(void)state;
	assert_true(track(0, 0, &count));
	n = ncalls;
	assert_true(n >= NTHREADS + 2 * NCHILDREN);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (int from = 1; from <= n; from++) {
			if (!track(from, from + lengths[i], &count))
				continue;
			started++;
			/* Each was followed to its end, or was reported as lost. */
			assert_int_equal(count.threads + count.lost_threads, NTHREADS);
			assert_int_equal(count.children + count.lost_children, NCHILDREN);
			assert_int_equal(count.ended, 1 + count.children);
			assert_int_equal(count.told, count.lost_threads + count.lost_children);
			lost += count.told;
		}
	}
	assert_true(started > 0);
	assert_true(lost > 0); /* otherwise nothing was tried */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_fails),
	};

	(void)argv;
	if (argc > 1) {
		fail_from = fail_to = 0;
		_exit(live());
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
