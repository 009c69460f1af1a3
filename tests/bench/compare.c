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
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct series {
	const char *name, *command;
	double *wall, *cpu; /* seconds, one per round */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

static void run(const char *command, double *wall, double *cpu)
{
	struct rusage usage;
	double start = now();
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
	*wall = now() - start;
	*cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0, n = (argc - 2) / 2;
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
		double wall = median(series[i].wall, rounds), cpu = median(series[i].cpu, rounds);

		printf("  %-24s wall %8.1f ms %6.2f x   cpu %8.1f ms %6.2f x\n", series[i].name,
		       wall * 1e3, wall / series[0].wall[rounds / 2], cpu * 1e3,
		       cpu / series[0].cpu[rounds / 2]);
	}
	for (int i = 0; i < n; i++) {
		free(series[i].wall);
		free(series[i].cpu);
	}
	free(series);
	return 0;
}
