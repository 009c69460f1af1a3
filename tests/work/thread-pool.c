/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * thread-pool [-p PAGES] [-s CALLS] N - N threads at once that obey standard input.
 *
 * Says "ready" when all N are there, then obeys characters on standard input,
 * each answered by "done":
 *   g  each of the N threads does the chore once
 *   t  one more thread is started, does the chore and is joined
 *   f  a child is forked, does the chore and is waited for
 *   x  no answer: exit_group(2) with status 5 while the threads live
 * At the end of the input the threads end, and the exit status is 0.
 *
 * Known: N + 1 LWPs while it waits, asleep; a `g` after the first one is exactly
 * N * PAGES page faults in user mode and N * CALLS calls, none of them the leader's
 * (the first one warms stacks and functions up).
 */
#include "work.h"

#include <sys/wait.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chore chore;
	long n;
	long round; /* grows with every `g`; -1: end */
	long idle;  /* threads that wait for the next round */
} crowd = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *member(void *arg)
{
	long seen = 0;

	(void)arg;
	pthread_mutex_lock(&crowd.lock);
	for (;;) {
		crowd.idle++;
		pthread_cond_broadcast(&crowd.changed);
		while (crowd.round == seen)
			pthread_cond_wait(&crowd.changed, &crowd.lock);
		if (crowd.round == -1)
			break;
		seen = crowd.round;
		pthread_mutex_unlock(&crowd.lock);
		do_chore(&crowd.chore);
		pthread_mutex_lock(&crowd.lock);
	}
	pthread_mutex_unlock(&crowd.lock);
	return NULL;
}

/* Wait until all threads wait for the next round. */
static void settle(void)
{
	pthread_mutex_lock(&crowd.lock);
	while (crowd.idle < crowd.n)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
}

static void begin_round(bool last)
{
	pthread_mutex_lock(&crowd.lock);
	crowd.round = last ? -1 : crowd.round + 1;
	crowd.idle = 0;
	pthread_cond_broadcast(&crowd.changed);
	pthread_mutex_unlock(&crowd.lock);
}

static void obey(char c)
{
	int status;
	pid_t pid;

	switch (c) {
	case 'g':
		begin_round(false);
		settle();
		break;
	case 't':
		pthread_join(start_thread(chore_thread, &crowd.chore), NULL);
		break;
	case 'f':
		pid = fork();
		if (pid == 0) {
			do_chore(&crowd.chore);
			_exit(0);
		}
		if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
			broken("fork");
		break;
	case 'x':
		_exit(5);
	default:
		return;
	}
	say("done\n");
}

int main(int argc, char *argv[])
{
	pthread_t *threads;
	int opt;
	char c;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&crowd.chore, opt, optarg))
			return WORK_BROKEN;
	}
	crowd.n = operand(argc, argv, optind);
	threads = calloc((size_t)crowd.n + 1, sizeof(*threads));
	if (threads == NULL)
		broken("calloc");
	for (long i = 0; i < crowd.n; i++)
		threads[i] = start_thread(member, NULL);
	settle();
	say("ready\n");
	while (read(STDIN_FILENO, &c, 1) == 1)
		obey(c);
	begin_round(true);
	for (long i = 0; i < crowd.n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
