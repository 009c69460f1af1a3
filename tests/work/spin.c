/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spin SECONDS - compute until so much CPU time is used (a fraction will do).
 *
 * Known: task-clock is SECONDS * 1e9 ns, and the little that starting and one look
 * at the clock cost, however busy the machine is.
 */
#include "work.h"

#include <time.h>

int main(int argc, char *argv[])
{
	struct timespec ts;
	double seconds;
	char *end;

	if (argc != 2)
		return WORK_BROKEN;
	seconds = strtod(argv[1], &end);
	if (*end != '\0')
		return WORK_BROKEN;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while ((double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec < seconds);
	return 0;
}
