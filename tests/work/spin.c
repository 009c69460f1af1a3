/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spin SECONDS - compute for so much CPU time (a fraction will do).
 *
 * Known: task-clock is SECONDS * 1e9 ns and a little for start-up and one look at the
 * clock, however busy the machine is.
 */
#include "work.h"

#include <time.h>

static double cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char *argv[])
{
	double start = cpu_time(); /* not 0: the process had some before its exec */
	double seconds;
	char *end;

	if (argc != 2)
		return WORK_BROKEN;
	seconds = strtod(argv[1], &end);
	if (*end != '\0')
		return WORK_BROKEN;
	while (cpu_time() - start < seconds)
		;
	return 0;
}
