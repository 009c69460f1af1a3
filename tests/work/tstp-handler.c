/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tstp-handler - handles SIGTSTP as editors do, which restore the terminal: the handler
 * prints "saved", stops by the default action, and prints "redrawn" when continued.
 * Ends with status 5 at the end of its input.
 */
#include "work.h"

#include <signal.h>

static void on_tstp(int sig)
{
	sigset_t set, old;

	say("saved\n");
	signal(SIGTSTP, SIG_DFL);
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, &old); /* stops here */
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGTSTP, on_tstp);
	say("redrawn\n");
}

int main(void)
{
	char byte;
	ssize_t n;

	signal(SIGTSTP, on_tstp);
	say("ready\n");
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n == -1 && errno == EINTR));
	return 5;
}
