/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * forks [-j] [-p PAGES] [-s CALLS] N - N children, one after the other; with -j at once.
 *
 * Known: N + 1 processes of one LWP each; every child does the chore once, the
 * parent none; child k exits with status k % 128, which the parent checks.  Exit
 * status 0, or 1 when a child's status was not what it should be.
 */
#include "work.h"

#include <sys/wait.h>

static bool reap(pid_t pid, long k)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == k % 128;
}

int main(int argc, char *argv[])
{
	struct chore chore = {0};
	bool at_once = false, good = true;
	pid_t *pids;
	long n;
	int opt;

	while ((opt = getopt(argc, argv, "jp:s:")) != -1) {
		if (opt == 'j')
			at_once = true;
		else if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	n = operand(argc, argv, optind);
	pids = calloc((size_t)n + 1, sizeof(*pids));
	if (pids == NULL)
		broken("calloc");
	for (long k = 1; k <= n; k++) {
		pids[k] = fork();
		if (pids[k] == -1)
			broken("fork");
		if (pids[k] == 0) {
			do_chore(&chore);
			_exit((int)(k % 128));
		}
		if (!at_once)
			good &= reap(pids[k], k);
	}
	for (long k = 1; at_once && k <= n; k++)
		good &= reap(pids[k], k);
	free(pids);
	if (!good)
		say("FAIL: a child's wait status\n");
	return good ? 0 : 1;
}
