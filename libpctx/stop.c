/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* stop.c - decodes wait statuses (ptrace(2), "Stopped states"). */
#include "stop.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static bool stops_group(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

struct pctxi_stop pctxi_stop_decode(int status)
{
	struct pctxi_stop stop = {.kind = PCTXI_STOP_OTHER};

	if (!WIFSTOPPED(status)) {
		stop.kind = PCTXI_STOP_DEATH;
		return stop;
	}
	switch (status >> 16) {
	case 0:
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) { /* PTRACE_O_TRACESYSGOOD */
			stop.kind = PCTXI_STOP_SYSCALL;
			break;
		}
		stop.kind = PCTXI_STOP_SIGNAL;
		stop.sig = WSTOPSIG(status);
		break;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		stop.kind = PCTXI_STOP_BIRTH;
		stop.thread = status >> 16 == PTRACE_EVENT_CLONE;
		break;
	case PTRACE_EVENT_EXEC:
		stop.kind = PCTXI_STOP_EXEC;
		break;
	case PTRACE_EVENT_STOP:
		/* With SIGTRAP it is not a group-stop, but PTRACE_INTERRUPT or a first stop. */
		if (stops_group(WSTOPSIG(status)))
			stop.kind = PCTXI_STOP_GROUP;
		break;
	default:
		break;
	}
	return stop;
}
