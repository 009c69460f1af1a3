/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.c - what SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z do to a run.
 */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

/* Handlers read these; only lock-free atomics may be read there. */
_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2, "pointers need a lock");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "integers need a lock");

static struct pace *_Atomic paced;	/* NULL: no run yet, or none any more */
static atomic_int ready;		/* it can be stopped */
static struct command *_Atomic started; /* NULL: -p */
static atomic_int early;		/* a signal that came before it was ready */
static atomic_int got;			/* the first signal of all runs of a command */

/*
 * The command has ended.  If that was not reported yet, its exit row is still to come, so
 * leave the stop to the exit handler; but do not rely on that a second time.
 */
static void stop_without(struct command *command, struct pace *pace)
{
	if (atomic_load(&command->left) || atomic_exchange(&command->stop_at, true))
		pace_stop(pace);
}

/*
 * Signals are the command's as long as it lives.  Those of the terminal reach it anyway
 * (si_code is positive then); those that a process sent to us alone are passed on.  After
 * its end they stop the tracking of the processes that it has left.
 */
static void on_command_signal(int sig, siginfo_t *info, void *context)
{
	struct command *command = atomic_load(&started);
	struct pace *pace = atomic_load(&paced);
	bool acts = atomic_load(&ready);
	int saved = errno, none = 0;

	(void)context;
	atomic_compare_exchange_strong(&got, &none, sig);
	if (pace == NULL)
		return;
	if (!atomic_load(&command->left))
		atomic_store(&command->cut, true);
	if (acts && command_ended(command))
		stop_without(command, pace);
	else if (acts && info->si_code <= 0)
		command_signal(command, sig);
	else if (!acts && (info->si_code <= 0 || command->pid == 0))
		atomic_store(&early, sig); /* one from the terminal reaches the command anyway, once
					      it is started */
	errno = saved;
}

static void on_end_signal(int sig, siginfo_t *info, void *context)
{
	struct pace *pace = atomic_load(&paced);

	(void)info;
	(void)context;
	if (!atomic_load(&ready))
		atomic_store(&early, sig);
	else if (pace != NULL)
		pace_stop(pace);
}

/* ^Z; a SIGCONT that comes before we have stopped takes it back. */
static void on_suspend(int sig)
{
	struct pace *pace = atomic_load(&paced);

	if (pace != NULL)
		pace_suspend(pace, sig == SIGTSTP);
}

static const struct {
	int sig;
	const char *name;
} caught[] = {{SIGINT, "INT"}, {SIGQUIT, "QUIT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}};

const char *signals_name(int sig)
{
	size_t i = 0;

	while (caught[i].sig != sig)
		i++;
	return caught[i].name;
}

void signals_catch(struct pace *pace, struct command *command)
{
	const struct sigaction tstp = {
		/* If we stopped, an attached process would soon wait for us. */
		.sa_handler = command != NULL ? on_suspend : SIG_IGN,
		.sa_flags = SA_RESTART,
	};
	const struct sigaction act = {
		.sa_sigaction = command != NULL ? on_command_signal : on_end_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};
	struct sigaction old;

	atomic_store(&started, command);
	atomic_store(&paced, pace);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		const int sig = caught[i].sig;

		/*
		 * An ignored signal stays ignored, also for the command, as nohup(1) expects.  But
		 * a script's shell ignores SIGINT for all commands that it starts with &.
		 */
		if (sigaction(sig, NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || (command == NULL && sig == SIGINT)))
			sigaction(sig, &act, NULL);
	}
	if (sigaction(SIGTSTP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
		sigaction(SIGTSTP, &tstp, NULL);
		sigaction(SIGCONT, &tstp, NULL);
	}
}

void signals_act(void)
{
	int sig;

	atomic_store(&ready, true);
	sig = atomic_load(&early);
	if (sig != 0)
		raise(sig); /* its handler can act on it now */
}

bool signals_kept(void)
{
	return atomic_load(&early) != 0;
}

void signals_forget(void)
{
	atomic_store(&paced, NULL);
	atomic_store(&ready, false);
	atomic_store(&early, 0);
}

int signals_got(void)
{
	return atomic_load(&got);
}
