/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Files that libcpc closes later, in a thread: all of them are closed, also by the process that
 * ends first and by forked children. The tests see it at the other end of a pipe.
 */
#include "unit.h"

#include "../../libcpc/perf/perf.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 100

static int reader[FILES], writer[FILES];

static void make_pipes(void)
{
	for (int i = 0; i < FILES; i++) {
		int fd[2];

		assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
		reader[i] = fd[0];
		writer[i] = fd[1];
	}
}

/* Waits until the other ends of all pipes are closed. */
static void wait_for_end(void)
{
	for (int i = 0; i < FILES; i++) {
		char byte;

		assert_int_equal(read(reader[i], &byte, 1), 0);
		close(reader[i]);
	}
}

static void by_thread(void **state)
{
	(void)state;
	make_pipes();
	for (int i = 0; i < FILES; i++)
		cpci_closer_close(writer[i]);
	wait_for_end();
}

/* No file stays open in this process, but the caller's other files do. */
static void by_process(void **state)
{
	int other[2];
	uint_t left;

	(void)state;
	make_pipes();
	assert_int_equal(pipe2(other, O_CLOEXEC), 0);
	for (int i = 0; i < FILES; i++)
		cpci_closer_close(writer[i]);
	left = cpc_leave_closing();
	assert_true(cpci_orphans_are_reaped() ? left == 0 : left <= FILES);
	for (int i = 0; i < FILES && !cpci_orphans_are_reaped(); i++)
		close(writer[i]); /* which our end would do, if the thread has not done it */
	wait_for_end();
	assert_int_not_equal(fcntl(other[1], F_GETFD), -1);
	close(other[0]);
	close(other[1]);
	assert_int_equal(cpc_leave_closing(), 0); /* nothing is left */
}

/* A forked child does not keep them open. */
static void forked(void **state)
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT); /* from then on forks are seen */
	pid_t pid;

	(void)state;
	assert_non_null(cpc);
	make_pipes();
	for (int i = 0; i < FILES; i++)
		cpci_closer_close(writer[i]);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_not_equal(pid, -1);
	wait_for_end();
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cpc_close(cpc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_thread),
		cmocka_unit_test(by_process),
		cmocka_unit_test(forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
