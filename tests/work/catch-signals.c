/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * catch-signals SIGNAL... - say "ready", then "caught N" for each of those signals (numbers).
 *
 * Known: one line per signal received; the last one named ends it with status 3.
 */
#include "work.h"

int main(int argc, char *argv[])
{
	char line[32];
	sigset_t set;
	int sig = 0;

	if (argc < 2)
		return WORK_BROKEN;
	sigemptyset(&set);
	for (int i = 1; i < argc; i++)
		sigaddset(&set, (int)number(argv[i]));
	sigprocmask(SIG_BLOCK, &set, NULL);
	say("ready\n");
	while (sig != (int)number(argv[argc - 1])) {
		sig = sigwaitinfo(&set, NULL);
		if (sig == -1)
			continue; /* EINTR */
		snprintf(line, sizeof(line), "caught %d\n", sig);
		say(line);
	}
	return 3;
}
