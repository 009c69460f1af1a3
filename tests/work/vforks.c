/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * vforks [-x] [-p PAGES] [-s CALLS] N - N children made by vfork(2), one after the other.
 *
 * Known: N + 1 processes; every child does the chore in its parent's memory while
 * the parent is suspended, then exits; with -x it executes this program again,
 * which does the chore once more as a new image.  Prints PASS when the parent never
 * ran before its child had exited or executed, and all wait statuses were right;
 * else FAIL and why, and exit status 1.
 */
#include "work.h"

#include <sys/wait.h>

extern char **environ;

static struct chore chore;
static volatile long finished; /* counted up by the children, in shared memory */
static char *again[7];

static const char *one_child(long k, bool execute)
{
	long before = finished;
	int status;
	pid_t pid;

	pid = vfork();
	if (pid == -1)
		broken("vfork");
	if (pid == 0) {
		do_chore(&chore);
		finished = before + 1;
		if (execute)
			execve("/proc/self/exe", again, environ);
		_exit(execute ? WORK_BROKEN : (int)(k % 128));
	}
	if (finished != before + 1)
		return "FAIL: the parent ran before its child had finished\n";
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != (execute ? 0 : k % 128))
		return "FAIL: a child's wait status\n";
	return NULL;
}

int main(int argc, char *argv[])
{
	char pages[24], calls[24];
	const char *wrong = NULL;
	bool execute = false;
	int opt;
	long n;

	while ((opt = getopt(argc, argv, "xp:s:")) != -1) {
		if (opt == 'x')
			execute = true;
		else if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	if (optind < argc && strcmp(argv[optind], "image") == 0) {
		do_chore(&chore);
		return 0;
	}
	n = operand(argc, argv, optind);
	snprintf(pages, sizeof(pages), "-p%ld", chore.pages);
	snprintf(calls, sizeof(calls), "-s%ld", chore.calls);
	again[0] = argv[0];
	again[1] = pages;
	again[2] = calls;
	again[3] = (char[]){"image"};
	for (long k = 1; wrong == NULL && k <= n; k++)
		wrong = one_child(k, execute);
	say(wrong != NULL ? wrong : "PASS\n");
	return wrong != NULL ? 1 : 0;
}
