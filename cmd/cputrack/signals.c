/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.c - how a run handles SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z.
 */
#include "signals.h"

#include "track/pace.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Handlers read these; only lock-free atomics may be read there. */
_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2, "pointers need a lock");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "integers need a lock");

static struct engine *_Atomic running; /* NULL: between runs */
static atomic_int ready;	       /* `running` can be stopped */
static atomic_int command_fd = -1;     /* pidfd; -1: not started, or the kernel has no pidfds */
static atomic_int early;	       /* a signal that came before `ready` */
static atomic_int got;		       /* the first signal of all runs */
static atomic_int ending;	       /* the first one that asks us to end */

/* Has the command ended, or is it a zombie? */
static bool has_ended(const struct command *command)
{
	struct pollfd pidfd = {.fd = atomic_load(&command_fd), .events = POLLIN};
	siginfo_t info = {0};

	if (command->reaped)
		return true;
	if (pidfd.fd != -1)
		return poll(&pidfd, 1, 0) > 0;
	if (waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) == -1)
		return errno == ECHILD;
	return info.si_pid != 0;
}

static void pass_on(const struct command *command, int sig)
{
	const int pidfd = atomic_load(&command_fd);

	if (pidfd != -1 &&
	    (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) == 0 || errno == ESRCH))
		return;
	if (!command->reaped)
		kill(command->pid, sig);
}

/*
 * Stops the tracking; there is no command, or it has ended.  If its exit row is still to come, let
 * that event stop the tracking; but at a second signal, do not wait for it.
 */
static void stop_after_command(struct engine *engine)
{
	struct command *command = engine->track->command;

	if (command == NULL || atomic_load(&command->left) ||
	    atomic_exchange(&command->stop_at, true))
		pace_stop(engine);
}

static void note(atomic_int *first, int sig)
{
	int none = 0;

	atomic_compare_exchange_strong(first, &none, sig);
}

/*
 * While the command lives, signals are for the command.  Those of the terminal reach it anyway
 * (si_code is positive then); those that a process sent to us alone are passed on.  After the
 * command's end they stop the tracking of its other processes; with -p, they stop it at once.
 */
static void on_end_signal(int sig, siginfo_t *info, void *context)
{
	struct engine *engine = atomic_load(&running);
	bool acts = atomic_load(&ready);
	int saved = errno;
	struct command *command;

	(void)context;
	if (sig == SIGHUP && engine != NULL && engine->config.reopens) {
		engine->reopen = 1;
		kill(getpid(), SIGCHLD); /* it ends the engine's sleep, now or when it begins */
		errno = saved;
		return;
	}
	note(&got, sig);
	if (engine == NULL) {
		note(&ending, sig);
		return;
	}
	command = engine->track->command;
	if (command != NULL && !atomic_load(&command->left))
		atomic_store(&command->cut, true);
	if (acts && (command == NULL || has_ended(command))) {
		note(&ending, sig);
		stop_after_command(engine);
	} else if (acts && info->si_code <= 0) {
		if (sig != SIGHUP) /* daemons read their files again */
			note(&ending, sig);
		pass_on(command, sig);
	} else if (!acts && (command == NULL || info->si_code <= 0 || command->pid == 0)) {
		/* One from the terminal reaches the command anyway, once it is started. */
		atomic_store(&early, sig);
	}
	errno = saved;
}

/*
 * ^Z, or a SIGCONT that cancels it.  pace_idle() stops us after the command has stopped: the
 * command's own handler may have work to do before.
 */
static void on_suspend(int sig)
{
	struct engine *engine = atomic_load(&running);

	if (engine != NULL)
		engine->suspend = sig == SIGTSTP;
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

bool signals_catch(struct engine *engine)
{
	const struct command *command = engine->track->command;
	const struct sigaction tstp = {
		/* If we stopped, an attached process would soon wait for us. */
		.sa_handler = command != NULL ? on_suspend : SIG_IGN,
		.sa_flags = SA_RESTART,
	};
	const struct sigaction act = {
		.sa_sigaction = on_end_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};
	struct sigaction old;

	atomic_store(&running, engine);
	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
		const int sig = caught[i].sig;

		/*
		 * An ignored signal stays ignored, also for the command, as nohup(1) expects.  But
		 * a script's shell ignores SIGINT for all commands that it starts with &.
		 */
		if (sigaction(sig, NULL, &old) == -1)
			return false;
		if ((old.sa_handler != SIG_IGN || (command == NULL && sig == SIGINT)) &&
		    sigaction(sig, &act, NULL) == -1)
			return false;
	}
	if (sigaction(SIGTSTP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
		sigaction(SIGTSTP, &tstp, NULL);
		sigaction(SIGCONT, &tstp, NULL);
	}
	return true;
}

void signals_act(void)
{
	const struct command *command = atomic_load(&running)->track->command;
	int sig;

	if (command != NULL)
		atomic_store(&command_fd, (int)syscall(SYS_pidfd_open, command->pid, 0));
	atomic_store(&ready, true);
	sig = atomic_load(&early);
	if (sig != 0)
		raise(sig); /* its handler can act on it now */
}

bool signals_kept(void)
{
	return atomic_load(&early) != 0;
}

bool signals_command_ends(unsigned ms)
{
	struct pollfd pidfd = {.fd = atomic_load(&command_fd), .events = POLLIN};

	return pidfd.fd == -1 || poll(&pidfd, 1, (int)ms) != 0;
}

void signals_forget(void)
{
	int pidfd;

	atomic_store(&running, NULL);
	atomic_store(&ready, false);
	atomic_store(&early, 0);
	pidfd = atomic_exchange(&command_fd, -1);
	if (pidfd != -1)
		close(pidfd);
}

int signals_got(void)
{
	return atomic_load(&got);
}

void signals_ended_command(void)
{
	note(&ending, atomic_load(&got));
}

int signals_ending(void)
{
	return atomic_load(&ending);
}
