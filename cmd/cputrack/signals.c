/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signals.c - what SIGINT, SIGQUIT, SIGTERM, SIGHUP and the terminal's ^Z do to a run.
 */
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Handlers read these; only lock-free atomics may be read there. */
_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2, "pointers need a lock");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "integers need a lock");

static struct track *_Atomic tracked; /* NULL: no run yet, or none any more */
static pctx_t *_Atomic handle;	      /* NULL: nothing to act on yet */
static atomic_int pidfd = -1;	      /* the command's, or -1 */
static atomic_int early;	      /* a signal that came before `handle` was set */

/*
 * The terminal sends its signals to the command, too (si_code is positive then); only
 * those that a process sent to us alone are passed on.
 */
static void on_command_signal(int sig, siginfo_t *info, void *context)
{
	pctx_t *pctx = atomic_load(&handle);
	int fd = atomic_load(&pidfd), saved = errno;

	(void)context;
	if (info->si_code > 0 || atomic_load(&tracked) == NULL)
		return;
	if (pctx == NULL)
		atomic_store(&early, sig);
	else if (fd != -1)
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	else /* before Linux 5.3 */
		kill(pctx_pid(pctx), sig);
	errno = saved;
}

static void on_end_signal(int sig, siginfo_t *info, void *context)
{
	struct track *track = atomic_load(&tracked);
	pctx_t *pctx = atomic_load(&handle);

	(void)info;
	(void)context;
	if (pctx == NULL)
		atomic_store(&early, sig);
	else if (track != NULL)
		track_stop(track, pctx);
}

/* ^Z; a SIGCONT that comes before we have stopped takes it back. */
static void on_suspend(int sig)
{
	struct track *track = atomic_load(&tracked);

	if (track != NULL)
		track_suspend(track, sig == SIGTSTP);
}

void signals_catch(struct track *track, bool command)
{
	static const int sigs[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	const struct sigaction tstp = {
		/* If we stopped, an attached process would soon wait for us. */
		.sa_handler = command ? on_suspend : SIG_IGN,
		.sa_flags = SA_RESTART,
	};
	const struct sigaction act = {
		.sa_sigaction = command ? on_command_signal : on_end_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};
	struct sigaction old;

	atomic_store(&tracked, track);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		/*
		 * What is ignored, as under nohup(1), stays so, also for the command.  But a
		 * script's shell ignores SIGINT for what it starts with &.
		 */
		if (sigaction(sigs[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || (!command && sigs[i] == SIGINT)))
			sigaction(sigs[i], &act, NULL);
	}
	if (sigaction(SIGTSTP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
		sigaction(SIGTSTP, &tstp, NULL);
		sigaction(SIGCONT, &tstp, NULL);
	}
}

void signals_command(pid_t pid)
{
	atomic_store(&pidfd, (int)syscall(SYS_pidfd_open, pid, 0));
}

void signals_act_on(pctx_t *pctx)
{
	int sig;

	atomic_store(&handle, pctx);
	sig = atomic_load(&early);
	if (sig != 0)
		raise(sig); /* its handler can act on it now */
}

void signals_forget(void)
{
	atomic_store(&tracked, NULL);
}
