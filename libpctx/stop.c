/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * stop.c - from wait status to what happened (ptrace(2), "Stopped states").
 */
#include "pctx_impl.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

static bool stops_group(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

struct pctxi_stop pctxi_stop_decode(int status)
{
	struct pctxi_stop stop = {.what = PCTXI_HELD};

	if (!WIFSTOPPED(status)) {
		stop.what = PCTXI_DIED;
		return stop;
	}
	switch (status >> 16) {
	case 0:
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) { /* PTRACE_O_TRACESYSGOOD */
			stop.what = PCTXI_SYSCALL;
			break;
		}
		stop.what = PCTXI_SIGNAL;
		stop.sig = WSTOPSIG(status);
		break;
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		stop.what = PCTXI_BIRTH;
		stop.thread = status >> 16 == PTRACE_EVENT_CLONE;
		break;
	case PTRACE_EVENT_EXEC:
		stop.what = PCTXI_EXEC;
		break;
	case PTRACE_EVENT_STOP:
		/* SIGTRAP here means any other reason than job control. */
		if (stops_group(WSTOPSIG(status)))
			stop.what = PCTXI_GROUP_STOP;
		break;
	default:
		break;
	}
	return stop;
}
