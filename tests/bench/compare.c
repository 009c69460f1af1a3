/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * compare ROUNDS NAME COMMAND [NAME COMMAND]... - what commands cost, as multiples of
 * the first.
 *
 * Each COMMAND is given to sh -c.  All of them run once per round, one after the
 * other, so that a machine that becomes slower does so for all.  Prints the medians
 * of wall and CPU time.  Exit status 1: a command failed.
 */
#include "bench.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct series {
	const char *name, *command;
	double *wall, *cpu; /* seconds, one per round */
};

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

static void run(const char *command, double *wall, double *cpu)
{
	struct rusage usage;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	int status;
	pid_t pid = fork();

	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	while (wait4(pid, &status, 0, &usage) == -1) {
		if (errno != EINTR)
			err(1, "wait4");
	}
	if (status != 0)
		errx(1, "failed: %s", command);
	*wall = (double)(now_ns(CLOCK_MONOTONIC) - start) * 1e-9;
	*cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, n = (argc - 2) / 2;
	double wall0 = 0, cpu0 = 0;
	struct series *series;

	if (rounds < 1 || n < 1 || argc % 2 != 0)
		errx(2, "usage: compare ROUNDS NAME COMMAND [NAME COMMAND]...");
	series = calloc((size_t)n, sizeof(*series));
	for (int i = 0; series != NULL && i < n; i++) {
		series[i].name = argv[2 + 2 * i];
		series[i].command = argv[3 + 2 * i];
		series[i].wall = calloc((size_t)rounds, sizeof(double));
		series[i].cpu = calloc((size_t)rounds, sizeof(double));
		if (series[i].wall == NULL || series[i].cpu == NULL)
			err(1, NULL);
	}
	if (series == NULL)
		err(1, NULL);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			run(series[i].command, &series[i].wall[r], &series[i].cpu[r]);
	}
	for (int i = 0; i < n; i++) {
		double wall = median(series[i].wall, (size_t)rounds);
		double cpu = median(series[i].cpu, (size_t)rounds);

		if (i == 0) {
			wall0 = wall;
			cpu0 = cpu;
		}
		printf("  %-24s wall %8.1f ms %6.2f x   cpu %8.1f ms %6.2f x\n", series[i].name,
		       wall * 1e3, wall / wall0, cpu * 1e3, cpu / cpu0);
	}
	for (int i = 0; i < n; i++) {
		free(series[i].wall);
		free(series[i].cpu);
	}
	free(series);
	return 0;
}
