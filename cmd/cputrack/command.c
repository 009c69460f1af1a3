/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * command.c - the process that cputrack started, as signal handlers need it.
 */
#include "command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "signal handlers may not take a lock");

void command_started(struct command *command, pid_t pid)
{
	command->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	command->pid = pid;
}

void command_forget(struct command *command)
{
	if (command->pid != 0 && command->pidfd != -1)
		close(command->pidfd);
	command->pidfd = -1;
}

bool command_ended(const struct command *command)
{
	struct pollfd pidfd = {.fd = command->pidfd, .events = POLLIN};
	siginfo_t info = {0};

	if (command->reaped)
		return true;
	if (command->pidfd != -1)
		return poll(&pidfd, 1, 0) > 0;
	if (waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) == -1)
		return errno == ECHILD;
	return info.si_pid != 0;
}

void command_signal(const struct command *command, int sig)
{
	if (command->pidfd != -1)
		syscall(SYS_pidfd_send_signal, command->pidfd, sig, NULL, 0);
	else if (!command->reaped)
		kill(command->pid, sig);
}
