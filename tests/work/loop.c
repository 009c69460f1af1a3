/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loop [-w] [-f CHILDREN] [-t THREADS] N - a loop of N rounds: in the first LWP, then in each
 * of THREADS threads, then in each of CHILDREN processes, one after the other.  With -w not
 * before standard input ends.
 *
 * Known: each loop is 2 * N instructions in user mode, and none in kernel mode.  So two
 * runs whose N is n and m, with equally many digits, differ by exactly
 * 2 * (m - n) * (1 + THREADS + CHILDREN) instructions.
 */
#include "machine.h"
#include "work.h"

#include <sys/wait.h>

static unsigned long rounds;

static void *loop_thread(void *arg)
{
	loop_rounds(rounds);
	return arg;
}

int main(int argc, char *argv[])
{
	long threads = 0, children = 0;
	bool waits = false;
	int opt;

	while ((opt = getopt(argc, argv, "f:t:w")) != -1) {
		if (opt == 'w')
			waits = true;
		else if (opt == 'f')
			children = number(optarg);
		else if (opt == 't')
			threads = number(optarg);
		else
			return WORK_BROKEN;
	}
	rounds = (unsigned long)operand(argc, argv, optind);
	if (rounds == 0) {
		errno = EINVAL;
		broken("no rounds");
	}
	if (waits)
		wait_eof();
	loop_rounds(rounds);
	for (long i = 0; i < threads; i++)
		pthread_join(start_thread(loop_thread, NULL), NULL);
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == -1)
			broken("fork");
		if (pid == 0) {
			loop_rounds(rounds);
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid)
			broken("waitpid");
	}
	return 0;
}
