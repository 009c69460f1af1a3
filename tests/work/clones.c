/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * clones [-p PAGES] [-s CALLS] - a child of every unusual kind, one after the other.
 *
 * clone(2) makes processes that are neither fork's nor vfork's nor threads: in
 * their parent's memory (CLONE_VM), without an exit signal (only __WALL sees them),
 * with shared files and signal handlers, as a sibling (CLONE_PARENT).
 *
 * Known: 5 processes of one LWP; every child does the chore once, first thing, the
 * parent none, and exits with its number 1..4, which is checked where it can be
 * waited for.  Prints PASS, or FAIL and exit status 1.
 */
#include "work.h"

#include <sched.h>
#include <sys/wait.h>

static struct chore chore;
static char stacks[4][64 * 1024] __attribute__((aligned(64)));

static int child(void *arg)
{
	do_chore(&chore);
	return (int)(long)arg;
}

static const struct {
	int flags;
	bool sibling; /* a sibling: our parent waits for it */
} kinds[] = {
	{.flags = CLONE_VM | SIGCHLD},
	{.flags = 0},
	{.flags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_SIGHAND | SIGCHLD},
	{.flags = CLONE_PARENT, .sibling = true},
};

int main(int argc, char *argv[])
{
	bool good = true;
	int opt, status;
	char byte;
	int ends[2];
	pid_t pid;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (pipe(ends) == -1)
			broken("pipe");
		pid = clone(child, stacks[i] + sizeof(stacks[i]), kinds[i].flags, (void *)(i + 1));
		if (pid == -1)
			broken("clone");
		close(ends[1]);
		if (kinds[i].sibling)
			good &= read(ends[0], &byte, 1) == 0; /* EOF when the child has ended */
		else
			good &= waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) &&
				WEXITSTATUS(status) == (int)(i + 1);
		close(ends[0]);
	}
	say(good ? "PASS\n" : "FAIL: a child's wait status\n");
	return good ? 0 : 1;
}
