/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * relays [-c USEC] N - N relays of processes, each of which lives for USEC (1000), creates the next
 * one and ends.  All of them become children of this program, which is their subreaper.
 *
 * Prints "ready"; at the end of the standard input the process that each relay has come to prints
 * "last PID" and ends, and so does the program.
 */
#include "work.h"

struct shared {
	volatile int over;
	pid_t reaper;
};

__attribute__((noreturn)) static void relay(const struct shared *shared, useconds_t usec)
{
	char line[32];

	for (;;) {
		usleep(usec);
		if (shared->over != 0 || kill(shared->reaper, 0) == -1)
			break;
		if (fork() != 0)
			_exit(0);
	}
	snprintf(line, sizeof(line), "last %d\n", (int)getpid());
	say(line);
	_exit(0);
}

int main(int argc, char *argv[])
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long n, usec = 1000;
	int ends[2], opt;
	char byte;

	while ((opt = getopt(argc, argv, "c:")) != -1) {
		if (opt != 'c')
			return WORK_BROKEN;
		usec = number(optarg);
	}
	n = operand(argc, argv, optind);
	if (shared == MAP_FAILED || pipe(ends) == -1 || prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		broken("relays");
	shared->reaper = getpid();
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps them */
	for (long i = 0; i < n; i++) {
		if (fork() == 0) {
			close(ends[0]);
			relay(shared, (useconds_t)usec);
		}
	}
	close(ends[1]);
	say("ready\n");
	wait_eof();
	shared->over = 1;
	return read(ends[0], &byte, 1) == 0 ? 0 : 1;
}
