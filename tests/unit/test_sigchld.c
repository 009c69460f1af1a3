/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * SIGCHLD while several threads of a process have handles of libpctx.
 */
#include "unit.h"

#include <errno.h>
#include <libpctx.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 20

static bool chld_is(void (*handler)(int))
{
	struct sigaction act;

	return sigaction(SIGCHLD, NULL, &act) == 0 && act.sa_handler == handler;
}

static void *hold_handle(void *arg)
{
	pthread_barrier_t *barrier = arg;
	pctx_t *pctx = pctx_open(NULL, NULL);

	assert_non_null(pctx);
	pthread_barrier_wait(barrier); /* both have one */
	pthread_barrier_wait(barrier); /* the other one's is released */
	pctx_release(pctx);
	return NULL;
}

/* SIGCHLD is as it was once the handles of all threads are gone, and not before. */
static void sigchld_of_two(void **state)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	pctx_t *pctx;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, hold_handle, &barrier), 0);
	pctx = pctx_open(NULL, NULL);
	assert_non_null(pctx);
	pthread_barrier_wait(&barrier);
	pctx_release(pctx);
	assert_true(chld_is(SIG_DFL));
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	assert_true(chld_is(SIG_IGN));
	pthread_barrier_destroy(&barrier);
	signal(SIGCHLD, SIG_DFL);
}

/* ---- two that attach at a time ---------------------------------------------------- */

static _Thread_local pthread_barrier_t *seizing; /* where all threads that seize meet */

long __real_ptrace(int request, ...);
long __wrap_ptrace(int request, pid_t pid, void *addr, void *data);

/* See --wrap of ld(1). */
long __wrap_ptrace(int request, pid_t pid, void *addr, void *data)
{
	pthread_barrier_t *barrier = request == PTRACE_SEIZE ? seizing : NULL;

	seizing = barrier != NULL ? NULL : seizing;
	if (barrier != NULL)
		pthread_barrier_wait(barrier);
	return __real_ptrace(request, pid, addr, data);
}

struct attacher {
	pthread_barrier_t *barrier;
	pthread_t thread;
	pid_t pid;
	bool captured;
};

static void *attach_often(void *arg)
{
	struct attacher *a = arg;

	a->captured = true;
	for (int i = 0; i < ROUNDS; i++) {
		pctx_t *pctx;

		seizing = a->barrier;
		pctx = pctx_capture(a->pid, NULL, 0, NULL);
		pthread_barrier_wait(a->barrier); /* all have attached: it is looked at */
		pthread_barrier_wait(a->barrier);
		a->captured &= pctx != NULL;
		if (pctx != NULL)
			pctx_release(pctx);
	}
	return NULL;
}

/* An attach installs a handler; the last one to end removes it. */
static void no_handler_after_attaching(void **state)
{
	struct attacher attacher[3];
	pthread_barrier_t barrier;
	bool dfl = true;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++) {
		attacher[i] = (struct attacher){.barrier = &barrier, .pid = start_sleeper()};
		assert_int_equal(
			pthread_create(&attacher[i].thread, NULL, attach_often, &attacher[i]), 0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier); /* where they seize */
		pthread_barrier_wait(&barrier);
		dfl &= chld_is(SIG_DFL);
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(attacher[i].thread, NULL);
		assert_true(attacher[i].captured);
		kill(attacher[i].pid, SIGKILL);
	}
	assert_true(dfl);
	assert_true(chld_is(SIG_IGN));
	signal(SIGCHLD, SIG_DFL);
	pthread_barrier_destroy(&barrier);
}

/* ---- two loops -------------------------------------------------------------------- */

static _Atomic pid_t waiting;		       /* the thread of the other loop, which waits */
static _Thread_local bool waits_for_report;    /* this one waits after the first report */
static _Thread_local unsigned waits, too_long; /* how often, and in vain */

int __real_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);

static bool sleeps(pid_t tid)
{
	char path[64], state = '\0';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '\0';
	fclose(f);
	return state == 'S';
}

/* What a loop calls to sleep: see --wrap of ld(1). */
int __wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	const struct timespec most = {.tv_sec = 20};
	siginfo_t report;
	int sig;

	if (!waits_for_report) {
		atomic_store(&waiting, gettid());
		return __real_sigtimedwait(set, info, timeout);
	}
	waits++;
	while (!sleeps(atomic_load(&waiting)))
		sched_yield();
	/* Our tracee reports, so its SIGCHLD goes to the loop that waits already. */
	while (waitid(P_ALL, 0, &report, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) ==
		       -1 &&
	       errno == EINTR)
		;
	sig = __real_sigtimedwait(set, info, &most);
	too_long += sig == -1 && errno == EAGAIN;
	return sig;
}

static void *run_pausing(void *arg)
{
	char sleep[] = "sleep", seconds[] = "1000", *argv[] = {sleep, seconds, NULL};
	pctx_t *pctx = pctx_create(sleep, argv, NULL, 0, NULL);
	int status = 0;

	*(pid_t *)arg = pctx != NULL ? pctx_pid(pctx) : -1;
	if (pctx == NULL)
		return NULL;
	pctx_run(pctx, 0, 0, NULL);
	pctx_wait(pctx, &status);
	pctx_release(pctx);
	return NULL;
}

/* A sleeping loop takes the SIGCHLD of another one, and passes it on. */
static void each_loop_is_told(void **state)
{
	char list[] = "(:); (:)", sh[] = "sh", c[] = "-c", *argv[] = {sh, c, list, NULL};
	pid_t other = 0;
	pthread_t thread;
	sigset_t chld, old;
	int status = -1;
	pctx_t *pctx;

	(void)state;
	atomic_store(&waiting, 0); /* the attaching thread may wait, too */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &chld, &old);
	assert_int_equal(pthread_create(&thread, NULL, run_pausing, &other), 0);
	while (atomic_load(&waiting) == 0)
		sched_yield();
	assert_true(other > 0);
	pctx = pctx_create("/bin/sh", argv, NULL, 0, NULL);
	assert_non_null(pctx);
	waits_for_report = true;
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	assert_int_equal(pctx_wait(pctx, &status), 0);
	assert_int_equal(status, 0);
	waits_for_report = false;
	pctx_release(pctx);
	kill(other, SIGKILL);
	pthread_join(thread, NULL);
	assert_true(waits > 0);
	assert_int_equal(too_long, 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sigchld_of_two),
		cmocka_unit_test(no_handler_after_attaching),
		cmocka_unit_test(each_loop_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
