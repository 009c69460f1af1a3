/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * set-comm NAME - change the name of the process, as /proc/PID/comm shows it.
 *
 * Says "ready" when that is done, and ends when it has read a byte or standard input is
 * at its end.  Known: one LWP, exit status 0.
 */
#include "work.h"

#include <sys/prctl.h>

int main(int argc, char *argv[])
{
	char byte;

	if (argc != 2 || prctl(PR_SET_NAME, argv[1]) == -1)
		return WORK_BROKEN;
	puts("ready");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) == -1 ? WORK_BROKEN : 0;
}
