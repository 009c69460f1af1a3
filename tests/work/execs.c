/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * execs [-f] [-p PAGES] [-s CALLS] N - become a new program N times.
 *
 * Known: one process of one LWP, N + 1 images (N execs beside the one that started
 * it); every image does the chore once, then executes this program again with
 * N - 1.  With -f every image first fails to execute a file that does not exist.
 * Exit status 0.
 */
#include "work.h"

extern char **environ;

static void exec_nothing(void)
{
	char *nothing[] = {(char[]){"nothing"}, NULL};

	if (execve("/nonexistent/nothing", nothing, environ) != -1 || errno != ENOENT)
		broken("exec of nothing");
}

int main(int argc, char *argv[])
{
	char pages[24], calls[24], left[24], f[] = "-f";
	char *again[] = {argv[0], pages, calls, left, NULL, NULL};
	struct chore chore = {0};
	bool fail = false;
	long n;
	int opt;

	while ((opt = getopt(argc, argv, "fp:s:")) != -1) {
		if (opt == 'f')
			fail = true;
		else if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	n = operand(argc, argv, optind);
	do_chore(&chore);
	if (fail)
		exec_nothing();
	if (n == 0)
		return 0;
	snprintf(pages, sizeof(pages), "-p%ld", chore.pages);
	snprintf(calls, sizeof(calls), "-s%ld", chore.calls);
	snprintf(left, sizeof(left), "%ld", n - 1);
	if (fail) {
		again[4] = again[3];
		again[3] = f;
	}
	execve("/proc/self/exe", again, environ);
	broken("execve");
}
