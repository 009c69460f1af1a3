/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exec-thread [-p PAGES] [-s CALLS] OTHERS - a thread that is not the leader calls exec.
 *
 * Known: the leader does nothing, OTHERS threads do the chore and sleep, LWP
 * OTHERS + 2 does the chore and executes this program again, which ends all other
 * LWPs.  The new image checks that it is the only LWP and has the old process id,
 * does the chore, prints PASS (or FAIL, exit status 1) and ends with status 0.
 */
#include "work.h"

#include <dirent.h>

extern char **environ;

static struct chore chore;
static char *again[6];
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

static void *execer(void *arg)
{
	(void)arg;
	do_chore(&chore);
	pthread_barrier_wait(&all_done);
	execve("/proc/self/exe", again, environ);
	broken("execve");
}

static int new_image(const char *pid)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	bool good = getpid() == (pid_t)number(pid) && gettid() == getpid();
	int lwps = 0;

	if (tasks == NULL)
		broken("/proc/self/task");
	while ((entry = readdir(tasks)) != NULL)
		lwps += entry->d_name[0] != '.';
	closedir(tasks);
	good &= lwps == 1;
	do_chore(&chore);
	say(good ? "PASS\n" : "FAIL: not the only LWP, or another process id\n");
	return good ? 0 : 1;
}

int main(int argc, char *argv[])
{
	char pages[24], calls[24], pid[24], image[] = "image";
	long others;
	int opt;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	if (optind + 1 < argc && strcmp(argv[optind], image) == 0)
		return new_image(argv[optind + 1]);
	others = operand(argc, argv, optind);
	snprintf(pages, sizeof(pages), "-p%ld", chore.pages);
	snprintf(calls, sizeof(calls), "-s%ld", chore.calls);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	again[0] = argv[0];
	again[1] = pages;
	again[2] = calls;
	again[3] = image;
	again[4] = pid;
	pthread_barrier_init(&all_done, NULL, (unsigned int)others + 1);
	for (long i = 0; i < others; i++)
		start_thread(sleeper, NULL);
	start_thread(execer, NULL);
	for (;;)
		pause();
}
