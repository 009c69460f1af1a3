/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * traced-process - keep a process that is traced: says "ready PID" of it; kills it at the end
 * of the input.
 *
 * Known: process PID sleeps and has a tracer, this program, while this program waits.
 */
#include "work.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

int main(void)
{
	char line[32];
	pid_t pid = fork_dependent();

	if (pid == 0) {
		for (;;)
			pause();
	}
	if (pid == -1 || ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1)
		broken("ptrace");
	snprintf(line, sizeof(line), "ready %d\n", (int)pid);
	say(line);
	wait_eof();
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
