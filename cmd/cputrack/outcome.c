/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * outcome.c - what has happened to the runs of cputrack, and the exit status that it makes.
 */
#include "outcome.h"

#include "../base/util.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* The exit statuses of a shell; STATUS_SIGNAL is added to the number of a signal. */
enum { STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

void outcome_run(struct outcome *outcome)
{
	outcome->refused = 0;
	outcome->lost = outcome->cut = false;
}

void outcome_refused(struct outcome *outcome, int error, int sig)
{
	switch (error) {
	case EINTR:
		outcome->sig = sig;
		/* fallthrough */
	case 0:
	case EPERM:
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOSYS:
		outcome->refused = STATUS_FAILED;
		break;
	case ENOENT:
		outcome->refused = STATUS_NOT_FOUND;
		break;
	default:
		outcome->refused = STATUS_CANNOT_EXECUTE;
	}
}

void outcome_ended(struct outcome *outcome, enum run_side side, int wstatus)
{
	if (WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGINT)
		outcome->sig = SIGINT;
	else if (!outcome->cut)
		ends_note(&outcome->ends[side], wstatus);
}

void outcome_lost(struct outcome *outcome)
{
	outcome->lost = outcome->ever_lost = true;
}

bool outcome_goes_on(const struct outcome *outcome)
{
	return outcome->refused == 0 && outcome->sig == 0 && outcome->error == 0;
}

/* A shell goes on with its loop unless we die of SIGINT, too. */
static int signal_status(int sig)
{
	return sig == SIGINT ? -sig : STATUS_SIGNAL + sig;
}

static int command_status(int wstatus)
{
	return WIFSIGNALED(wstatus) ? signal_status(WTERMSIG(wstatus)) : WEXITSTATUS(wstatus);
}

int outcome_status(const struct outcome *outcome, bool compared, const struct limit *limit)
{
	const int sig = outcome->sig;

	if (outcome->hung_up)
		return -SIGHUP;
	if (outcome->error == EPIPE)
		return -SIGPIPE; /* as other writers to the pipe end */
	if (outcome->error == EINTR)
		return signal_status(sig);
	if (outcome->error != 0 || outcome->lost || (outcome->ever_lost && sig != SIGINT))
		return STATUS_FAILED;
	if (sig != 0)
		return signal_status(sig);
	if (outcome->refused != 0)
		return outcome->refused;
	for (enum run_side side = SIDE_NONE; side <= SIDE_NEW; side++) {
		if (outcome->ends[side].failed > 0)
			return compared ? STATUS_COMMAND_FAILED
					: command_status(outcome->ends[side].wstatus);
	}
	return limit_status(limit, STATUS_OK);
}
