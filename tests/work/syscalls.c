/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * syscalls N - call sched_rr_get_interval(2) N times: hardly any other program ever does.
 *
 * Known: syscalls:sys_enter_sched_rr_get_interval is exactly N for this process, and
 * over the whole machine, too, while nothing else runs this program.
 */
#include "work.h"

#include <sched.h>
#include <time.h>

int main(int argc, char *argv[])
{
	struct timespec ts;
	long n = operand(argc, argv, 1);

	for (long i = 0; i < n; i++)
		syscall(SYS_sched_rr_get_interval, 0, &ts);
	return 0;
}
