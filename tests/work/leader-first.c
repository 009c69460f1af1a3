/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * leader-first [-w] [-p PAGES] [-s CALLS] [-x STATUS] N - the leader ends before its threads.
 *
 * The N threads wait until the leader is a zombie, with -w then say "ready" and
 * wait for the end of standard input; then each does the chore.  The last one ends
 * the process: with exit(STATUS), or without -x by just returning, which is 0.
 *
 * Known: N + 1 LWPs; the leader does no chore, the others do one each.
 */
#include "work.h"

static struct {
	struct chore chore;
	bool wait;
	int status; /* -1: return */
	long n;
	long done;
	pthread_barrier_t together;
	pthread_mutex_t lock;
} work = {.status = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static bool leader_is_gone(void)
{
	char path[64], text[512], *state;
	ssize_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	file = fopen(path, "re");
	if (file == NULL)
		return true;
	n = (ssize_t)fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	state = strrchr(text, ')');
	return state != NULL && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

static void *worker(void *arg)
{
	bool first = arg != NULL, last;

	if (first) {
		while (!leader_is_gone())
			usleep(1000);
		if (work.wait) {
			say("ready\n");
			wait_eof();
		}
	}
	pthread_barrier_wait(&work.together);
	do_chore(&work.chore);
	pthread_mutex_lock(&work.lock);
	last = ++work.done == work.n;
	pthread_mutex_unlock(&work.lock);
	if (last && work.status != -1)
		exit(work.status);
	return NULL;
}

int main(int argc, char *argv[])
{
	int opt;

	while ((opt = getopt(argc, argv, "wx:p:s:")) != -1) {
		if (opt == 'w')
			work.wait = true;
		else if (opt == 'x')
			work.status = (int)number(optarg);
		else if (!chore_option(&work.chore, opt, optarg))
			return WORK_BROKEN;
	}
	work.n = operand(argc, argv, optind);
	pthread_barrier_init(&work.together, NULL, (unsigned int)work.n);
	for (long i = 0; i < work.n; i++)
		start_thread(worker, i == 0 ? &work : NULL);
	pthread_exit(NULL);
}
