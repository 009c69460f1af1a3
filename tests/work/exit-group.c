/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exit-group [-t] [-x STATUS] [-p PAGES] [-s CALLS] N - the process ends while N threads live.
 *
 * The N threads do the chore and sleep for ever; when all have done it, the leader
 * (with -t one more thread, LWP N + 2) calls exit_group(STATUS).
 *
 * Known: N + 1 LWPs (with -t N + 2); N chores, none by the leader nor that thread.
 */
#include "work.h"

static struct chore chore;
static int exit_status;
static pthread_barrier_t all_done;

static void *sleeper(void *arg)
{
	(void)arg;
	do_chore(&chore);
	pthread_barrier_wait(&all_done);
	for (;;)
		pause();
	return NULL;
}

static void *ender(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&all_done);
	_exit(exit_status);
}

int main(int argc, char *argv[])
{
	bool by_thread = false;
	long n;
	int opt;

	while ((opt = getopt(argc, argv, "tx:p:s:")) != -1) {
		if (opt == 't')
			by_thread = true;
		else if (opt == 'x')
			exit_status = (int)number(optarg);
		else if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	n = operand(argc, argv, optind);
	pthread_barrier_init(&all_done, NULL, (unsigned int)n + 1);
	for (long i = 0; i < n; i++)
		start_thread(sleeper, NULL);
	if (!by_thread)
		ender(NULL);
	start_thread(ender, NULL);
	for (;;)
		pause();
}
