/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pingpong N - two processes on one CPU pass a byte to and fro through pipes, N times.
 *
 * Known: each of them has to wait for the other N times, so there are at least 2 * N
 * switches between processes.
 */
#include "work.h"

#include <sched.h>
#include <sys/wait.h>

/* Both stay on the first CPU that is allowed. */
static void pin(void)
{
	cpu_set_t allowed, one;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == -1)
		broken("sched_getaffinity");
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) == -1)
		broken("sched_setaffinity");
}

static void pass(int fd)
{
	if (write(fd, "", 1) != 1)
		broken("write");
}

static void await(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		broken("read");
}

int main(int argc, char *argv[])
{
	long n = number(argc == 2 ? argv[1] : "");
	int to[2], fro[2], status;
	pid_t child;

	if (pipe(to) == -1 || pipe(fro) == -1)
		broken("pipe");
	pin();
	child = fork();
	if (child == -1)
		broken("fork");
	for (long i = 0; i < n; i++) {
		if (child == 0) {
			await(to[0]);
			pass(fro[1]);
		} else {
			pass(to[1]);
			await(fro[0]);
		}
	}
	if (child == 0)
		_exit(0);
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : WORK_BROKEN;
}
