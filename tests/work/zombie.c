/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * zombie - keep a zombie: says "ready PID" of it, and reaps it at the end of the input.
 *
 * Known: process PID is dead and not yet waited for while this program waits.
 */
#include "work.h"

#include <sys/wait.h>

int main(void)
{
	siginfo_t info;
	char line[32];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid == -1 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == -1)
		broken("child");
	snprintf(line, sizeof(line), "ready %d\n", (int)pid);
	say(line);
	wait_eof();
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
