/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * record-exit FILE COMMAND [ARG]... - write into FILE how the command ended.
 *
 * The command starts with SIGINT, SIGQUIT, SIGTERM, SIGHUP and SIGPIPE at their
 * defaults, whatever the shell that runs us ignores.  FILE gets the line "pid N", and
 * at the end "exit STATUS" or "signal N": a shell's $? cannot tell these apart.
 * Known: exit status 0 when the command was run.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/wait.h>

static const int defaults[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};

int main(int argc, char *argv[])
{
	int status, fd;
	pid_t pid;

	if (argc < 3)
		return WORK_BROKEN;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (fd == -1)
		broken(argv[1]);
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		signal(defaults[i], SIG_DFL);
	pid = fork();
	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		broken(argv[2]);
	}
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		signal(defaults[i], SIG_IGN);
	dprintf(fd, "pid %d\n", (int)pid);
	if (waitpid(pid, &status, 0) != pid)
		broken("waitpid");
	if (WIFSIGNALED(status))
		dprintf(fd, "signal %d\n", WTERMSIG(status));
	else
		dprintf(fd, "exit %d\n", WEXITSTATUS(status));
	return 0;
}
