/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * children.c - wait for our own children, while LWPs are counted in the kernel.
 */
#include "children.h"
#include "../../../libpctx/untraced.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t changed;

static void on_child(int sig)
{
	(void)sig;
	changed = 1;
}

void children_catch(struct children *children)
{
	const struct sigaction act = {.sa_handler = on_child};

	sigaction(SIGCHLD, &act, &children->old);
	children->caught = true;
}

void children_leave(const struct children *children)
{
	if (children->caught)
		sigaction(SIGCHLD, &children->old, NULL);
}

void children_hold(sigset_t *mask)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGCHLD);
	sigaddset(&held, SIGTSTP);
	pthread_sigmask(SIG_BLOCK, &held, mask);
}

int children_sleep(struct pollfd *fds, nfds_t n, unsigned ms, const sigset_t *mask)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
	sigset_t awake = *mask;

	sigdelset(&awake, SIGCHLD);
	return ppoll(fds, n, ms == 0 ? NULL : &time, &awake) == -1 && errno != EINTR ? -1 : 0;
}

void children_look(struct children *children, pid_t command)
{
	const int flags = WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL;
	siginfo_t info = {0};
	int wstatus;
	pid_t pid;

	if (!changed)
		return;
	changed = 0;
	while (waitid(P_ALL, 0, &info, flags) == 0 && info.si_pid != 0) {
		if (info.si_code == CLD_STOPPED)
			return;
		if (info.si_code == CLD_TRAPPED) {
			pctx_spawn_wait(info.si_pid, &wstatus, 0);
			info.si_pid = 0;
			continue;
		}
		pid = waitpid(info.si_pid, &wstatus, WNOHANG | __WALL);
		if (pid == -1)
			return; /* it is impossible: the wait for the command reports the reason */
		if (pid == info.si_pid && pid == command) {
			children->ended = true;
			children->wstatus = wstatus;
		}
		info.si_pid = 0;
	}
}
