/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Counters switched off and on: by the LWP itself, by the process that traces it, by requests.
 */
#include "faults.h"
#include "handle.h"

#include "../../libcpc/set/counter.h"

#include <errno.h>
#include <libcpc.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 200

static cpc_set_t *faults(cpc_t *handle)
{
	cpc_set_t *set = cpc_set_create(handle);

	assert_int_equal(
		cpc_set_add_request(handle, set, "page-faults", 5, CPC_COUNT_USER, 0, NULL), 0);
	return set;
}

static uint64_t counted(cpc_set_t *set)
{
	cpc_buf_t *buf = cpc_buf_create(cpc, set);
	uint64_t val = 0;

	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_buf_get(cpc, buf, 0, &val), 0);
	cpc_buf_destroy(cpc, buf);
	return val;
}

static void refused(int rc, int err)
{
	int saved = errno;

	assert_int_equal(rc, -1);
	assert_int_equal(saved, err);
}

static void own_set(void **state)
{
	cpc_set_t *set = faults(cpc);

	(void)state;
	touch(PAGES); /* faults in what is measured, and what is called */
	refused(cpc_enable(cpc), EINVAL);
	refused(cpc_disable(cpc), EINVAL);
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_DISABLED), 0);
	touch(PAGES);
	assert_int_equal(counted(set), 5); /* the preset */
	for (unsigned i = 1; i <= 10; i++) {
		assert_int_equal(cpc_enable(cpc), 0);
		assert_int_equal(cpc_enable(cpc), 0);
		touch(PAGES);
		assert_int_equal(cpc_disable(cpc), 0);
		touch(PAGES);
		assert_int_equal(cpc_disable(cpc), 0);
		assert_count(counted(set), 5 + i * PAGES);
	}
	refused(cpc_set_enable(cpc, set), EINVAL);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0); /* counts from 0 again, and is on */
	touch(PAGES);
	assert_int_equal(cpc_disable(cpc), 0);
	assert_count(counted(set), 5 + PAGES);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	refused(cpc_enable(cpc), EINVAL);
}

/* An LWP has one set, of any handle; only that handle enables and disables it. */
static void handles(void **state)
{
	cpc_t *other = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = faults(cpc), *theirs = faults(other);

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	refused(cpc_enable(other), EINVAL);
	assert_int_equal(cpc_bind_curlwp(other, theirs, 0), 0);
	refused(cpc_unbind(cpc, set), EINVAL);
	refused(cpc_disable(cpc), EINVAL);
	assert_int_equal(cpc_disable(other), 0);
	cpc_close(other);
	refused(cpc_enable(cpc), EINVAL);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
}

static void *switch_off(void *arg)
{
	(void)arg;
	return cpc_disable(cpc) == -1 && errno == EINVAL ? NULL : cpc;
}

static void *bind_and_end(void *arg)
{
	return cpc_bind_curlwp(cpc, arg, 0) == 0 && cpc_disable(cpc) == 0 && cpc_enable(cpc) == 0
		       ? NULL
		       : cpc;
}

static void *unbind(void *arg)
{
	return cpc_unbind(cpc, arg) == 0 ? NULL : cpc;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	void *wrong;

	assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
	pthread_join(thread, &wrong);
	assert_null(wrong);
}

static void lwps(void **state)
{
	cpc_set_t *set = faults(cpc), *gone = faults(cpc);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
	in_thread(switch_off, NULL);
	in_thread(bind_and_end, gone);
	assert_int_equal(cpc_set_destroy(cpc, gone), 0);
	pid = fork(); /* has the set's files, but is another LWP */
	if (pid == 0)
		_exit(switch_off(NULL) == NULL ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	touch(PAGES);
	assert_true(counted(set) >= 5 + PAGES);
	in_thread(unbind, set);
	refused(cpc_disable(cpc), EINVAL);
	assert_int_equal(cpc_set_destroy(cpc, set), 0);
	refused(cpc_disable(cpc), EINVAL);
}

/* Counters of a CPU can be neither enabled nor disabled. */
static void cpus(void **state)
{
	cpc_set_t *set = faults(cpc);
	int cpu = sched_getcpu();

	(void)state;
	refused(cpc_bind_cpu(cpc, cpu, set, CPC_BIND_DISABLED), EINVAL);
	if (cpc_bind_cpu(cpc, cpu, set, 0) == -1 && errno == EACCES)
		skip_because("whole CPUs may not be counted here: %s", last_error.text);
	assert_int_equal(sched_getcpu(), cpu);
	refused(cpc_enable(cpc), EINVAL);
	refused(cpc_set_disable(cpc, set), EINVAL);
}

/* A set that counts for LWPs can be switched while it is bound, and not after that. */
static void unbound(void **state)
{
	const uint_t flags = CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED | CPC_BIND_CPU_LWPS;
	cpc_set_t *set = faults(cpc);

	(void)state;
	if (cpc_bind_cpu(cpc, sched_getcpu(), set, flags) == -1 && errno == EACCES)
		skip_because("whole CPUs may not be counted here: %s", last_error.text);
	assert_int_equal(cpc_set_disable(cpc, set), 0);
	assert_int_equal(cpc_set_enable(cpc, set), 0);
	assert_int_equal(cpc_unbind(cpc, set), 0);
	refused(cpc_set_enable(cpc, set), EINVAL);
	refused(cpc_set_disable(cpc, set), EINVAL);
}

/* Take all counters of a CPU: pinned events, more than there are counters. */
static void take_all(int cpu, int *fd, size_t n)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
	};

	for (size_t i = 0; i < n; i++) {
		fd[i] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0UL);
		assert_true(fd[i] >= 0);
	}
}

static void lost(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);
	cpc_buf_t *buf;
	cpu_set_t all, one;
	int fd[40], cpu = sched_getcpu();

	(void)state;
	assert_int_equal(cpc_set_add_request(cpc, set, "INSTRUCTIONS", 0, CPC_COUNT_USER, 0, NULL),
			 0);
	buf = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		skip_lacking("hardware counters");
	if (geteuid() != 0)
		skip_because("only root may take all counters of a CPU");
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);

	/* Taken while the set is on: its counts stay invalid after the counters are free again. */
	take_all(cpu, fd, ARRAY_SIZE(fd));
	refused(cpc_enable(cpc), EAGAIN);
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	refused(cpc_disable(cpc), EAGAIN);
	refused(cpc_set_sample(cpc, set, buf), EAGAIN);
	assert_int_equal(cpc_bind_curlwp(cpc, set, CPC_BIND_DISABLED), 0);
	assert_int_equal(cpc_enable(cpc), 0);
	assert_int_equal(cpc_disable(cpc), 0);

	/* Taken while the set is off: that shows after it was on. */
	take_all(cpu, fd, ARRAY_SIZE(fd));
	assert_int_equal(cpc_set_sample(cpc, set, buf), 0);
	assert_int_equal(cpc_enable(cpc), 0);
	refused(cpc_disable(cpc), EAGAIN);
	for (size_t i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	sched_setaffinity(0, sizeof(all), &all);
}

/* ---- a process that is controlled ---------------------------------------- */

static enum {
	NOBODY,	 /* answers */
	ANSWERS, /* a function of ours does */
	SET,	 /* libcpc does, for the set that is bound to the LWP */
	UNBOUND, /* no longer */
	MODES
} mode;
static cpc_set_t *pctx_set;
static int asked, released, status;

static int answer(int op, void *arg)
{
	assert_ptr_equal(arg, &asked);
	asked++;
	return op;
}

static void release(void *arg)
{
	assert_ptr_equal(arg, &asked);
	released++;
}

static int on_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pid;
	if (mode == ANSWERS)
		assert_int_equal(pctx_lwp_answer(pctx, lwp, answer, arg, release), 0);
	if (mode == SET || mode == UNBOUND) {
		assert_int_equal(cpc_bind_pctx(cpc, pctx, lwp, pctx_set, CPC_BIND_DISABLED), 0);
		assert_int_equal(cpc_set_enabled(cpc, pctx_set), 0);
	}
	if (mode == UNBOUND)
		assert_int_equal(cpc_unbind(cpc, pctx_set), 0);
	return 0;
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t lwp, int wstatus, void *arg)
{
	(void)pctx;
	(void)pid;
	(void)lwp;
	(void)arg;
	status = wstatus;
}

/* The controlled program; returns at the first call with a wrong result. */
static int program(void)
{
	switch (mode) {
	case ANSWERS:
		if (pctx_request(0) != 0 || pctx_request(EBUSY) != -1 || errno != EBUSY)
			return 1;
		return pctx_request(EAGAIN) == -1 && errno == EAGAIN ? 0 : 2;
	case SET:
		if (pctx_request(1) != -1 || errno != ESRCH)
			return 3;
		touch(PAGES);
		for (int i = 0; i < 3; i++) {
			if (cpc_enable(cpc) != 0)
				return 4;
			touch(PAGES);
			if (cpc_disable(cpc) != 0 || cpc_disable(cpc) != 0)
				return 5;
			touch(PAGES);
		}
		return 0;
	default:
		if (cpc_enable(cpc) != -1 || errno != EINVAL)
			return 6;
		return pctx_request(1) == -1 && errno == ESRCH ? 0 : 7;
	}
}

/* Several controlled processes, one after the other. */
static void controlled(void **state)
{
	pctx_t *pctx;
	int go[2];
	char c;
	pid_t pid;

	(void)state;
	skip_under_tsan("wants nothing allocated in handlers, not even where that is safe");
	refused(pctx_request(1), ESRCH);
	for (mode = NOBODY; mode < MODES; mode++) {
		pctx_set = faults(cpc);
		assert_int_equal(pipe(go), 0);
		pid = fork();
		if (pid == 0)
			_exit(read(go[0], &c, 1) == 1 ? program() : 99);
		pctx = pctx_capture(pid, &asked, 0, NULL);
		assert_non_null(pctx);
		pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init, PCTX_SYSC_EXIT_EVENT,
				on_exit_proc, PCTX_NULL_EVENT);
		assert_int_equal(write(go[1], "g", 1), 1);
		status = -1;
		assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
		pctx_release(pctx);
		assert_int_equal(status, 0);
		close(go[0]);
		close(go[1]);
		assert_int_equal(asked, mode >= ANSWERS ? 3 : 0);
		assert_int_equal(released, mode >= ANSWERS);
		if (mode == SET) {
			assert_int_equal(cpc_set_enabled(cpc, pctx_set), 0);
			assert_int_equal(counted(pctx_set), 5 + 3 * PAGES);
		}
	}
}

static void *forge(void *arg)
{
	siginfo_t info = {.si_signo = SIGWINCH, .si_code = 0x70637478};
	long rc = syscall(SYS_rt_tgsigqueueinfo, getpid(), *(pid_t *)arg, SIGWINCH, &info);

	return rc == -1 && errno == EPERM ? NULL : arg;
}

/* Requests are safe: the kernel accepts such a signal from the LWP itself only. */
static void nobody_else_asks(void **state)
{
	pid_t self = getpid();

	(void)state;
	assert_non_null(forge(&self));
	in_thread(forge, &self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_set, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(handles, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(lwps, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(cpus, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(unbound, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(lost, open_handle, close_handle),
		cmocka_unit_test_setup_teardown(controlled, open_handle, close_handle),
		cmocka_unit_test(nobody_else_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
