/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * killed-parents [-c USEC] [-g] ROUNDS KIND - processes that are killed while they make others.
 *
 * In each round a child starts two threads that make
 *   forks    children that end at once
 *   threads  threads that end at once
 *   execs    children that execute this program, which ends at once
 * as fast as they can, until SIGKILL ends it, with -g exit_group(2) by itself, at a moment
 * that differs from round to round.  Then all that it left behind must come to its end by
 * itself: the round is over when the last of them has closed its end of a pipe.
 *
 * Known: prints PASS, or FAIL and why (status 1).
 */
#include "work.h"

#include <sys/wait.h>
#include <time.h>

static char *self[] = {(char[]){"/proc/self/exe"}, (char[]){"0"}, (char[]){"none"}, NULL};
static const char *kind;

static void *nothing(void *arg)
{
	return arg;
}

static void *maker(void *arg)
{
	pthread_t thread;
	pid_t pid;

	for (;;) {
		if (strcmp(kind, "threads") == 0) {
			if (pthread_create(&thread, NULL, nothing, NULL) == 0)
				pthread_join(thread, NULL);
			continue;
		}
		pid = fork();
		if (pid == 0) {
			if (strcmp(kind, "execs") == 0)
				execv(self[0], self);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return arg;
}

__attribute__((noreturn)) static void storm(long usec, bool ends_itself)
{
	start_thread(maker, NULL);
	start_thread(maker, NULL);
	if (ends_itself) {
		usleep((useconds_t)usec);
		_exit(0);
	}
	for (;;)
		pause();
}

static const char *one_round(long usec, bool ends_itself)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	if (pipe(ends) == -1)
		broken("pipe");
	pid = fork();
	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		close(ends[0]);
		storm(usec, ends_itself);
	}
	close(ends[1]);
	if (!ends_itself) {
		usleep((useconds_t)usec);
		kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) != pid)
		return "FAIL: waitpid\n";
	if (status != (ends_itself ? 0 : SIGKILL))
		return "FAIL: a wait status\n";
	if (read(ends[0], &byte, 1) != 0)
		return "FAIL: read\n";
	close(ends[0]);
	return NULL;
}

int main(int argc, char *argv[])
{
	const char *wrong = NULL;
	bool ends_itself = false;
	long rounds, usec = 3000;
	int opt;

	while ((opt = getopt(argc, argv, "c:g")) != -1) {
		if (opt == 'g')
			ends_itself = true;
		else if (opt == 'c')
			usec = number(optarg);
		else
			return WORK_BROKEN;
	}
	if (argc != optind + 2)
		return WORK_BROKEN;
	rounds = number(argv[optind]);
	kind = argv[optind + 1];
	for (long i = 0; i < rounds && wrong == NULL; i++)
		wrong = one_round(usec + i * 137 % usec, ends_itself);
	if (rounds > 0)
		say(wrong != NULL ? wrong : "PASS\n");
	return wrong != NULL;
}
