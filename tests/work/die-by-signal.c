/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * die-by-signal [-t] SIGNAL - die of that signal (a number), with -t raised in a second thread.
 *
 * Known: a shell's status is 128 + SIGNAL, and no core file is left.  The exit status is 99 if the
 * signal does not kill it.
 */
#include "work.h"

static void *raise_it(void *sig)
{
	raise(*(int *)sig);
	return NULL;
}

int main(int argc, char *argv[])
{
	struct rlimit none = {0};
	bool by_thread = false;
	sigset_t nothing;
	int opt, sig;

	while ((opt = getopt(argc, argv, "t")) != -1) {
		if (opt != 't')
			return WORK_BROKEN;
		by_thread = true;
	}
	sig = (int)operand(argc, argv, optind);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL); /* fails for SIGKILL, whose action is the default anyway */
	sigemptyset(&nothing);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	if (by_thread)
		pthread_join(start_thread(raise_it, &sig), NULL);
	else
		raise_it(&sig);
	return 99;
}
