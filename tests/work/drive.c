/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * drive [OPTION]... EVENT... [-- COMMAND...] - lets events happen, by /dev/fakepmu of tests/vm/pmu.
 * EVENT is CODE:N[:u|k], N events in user or kernel mode, or uncore:BOX:CODE:N.
 *
 *   -t N     threads (1), each of which does all that follows
 *   -r N     rounds (1), each of which lets all events happen
 *   -m LIST  before each round, moves to the next of these CPUs, such as 0,3,1; threads start at
 *            different places of the list
 *   -f N     then creates N processes, one after another, which do the same rounds
 *   -y       yields after each round;  -s US: sleeps;  -b LOOPS: keeps the CPU busy
 *   -w SEC   begins after so many seconds
 *   -x       at the end, executes the command
 *
 * Known: a process has N x rounds x threads events of each code.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/wait.h>

#define MAX_EVENTS 64
#define MAX_CPUS 256

static char event[MAX_EVENTS][64];
static int nevents, ncpus, cpu[MAX_CPUS], device;
static bool yields;
static long rounds = 1, sleep_us, busy;

static void *run(void *first)
{
	long at = (long)first;

	for (long r = 0; r < rounds; r++, at++) {
		if (ncpus > 0)
			move_to(cpu[at % ncpus]);
		for (int i = 0; i < nevents; i++) {
			if (write(device, event[i], strlen(event[i])) == -1)
				broken(event[i]);
		}
		for (volatile long n = 0; n < busy; n++)
			;
		if (yields)
			sched_yield();
		if (sleep_us > 0)
			usleep((useconds_t)sleep_us);
	}
	return NULL;
}

static void run_threads(long n)
{
	pthread_t *thread = calloc((size_t)n, sizeof(*thread));

	if (thread == NULL)
		broken("calloc");
	for (long i = 1; i < n; i++)
		thread[i] = start_thread(run, (void *)i);
	run(NULL);
	for (long i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

static void add_cpus(char *list)
{
	for (char *word = strtok(list, ","); word != NULL && ncpus < MAX_CPUS;
	     word = strtok(NULL, ","))
		cpu[ncpus++] = (int)number(word);
}

/* "CODE:N" becomes "CODE N u". */
static void add_event(const char *word)
{
	const bool has_mode = strncmp(word, "uncore", 6) == 0 || strpbrk(word, "uk") != NULL;
	char *text = event[nevents];

	if (nevents++ == MAX_EVENTS)
		broken("too many events");
	snprintf(text, sizeof(event[0]), "%s%s", word, has_mode ? "" : ":u");
	for (char *p = text; (p = strchr(p, ':')) != NULL;)
		*p = ' ';
}

static void run_children(long n, long threads)
{
	for (long i = 0; i < n; i++) {
		pid_t pid = fork_dependent();

		if (pid == 0) {
			run_threads(threads);
			_exit(0);
		}
		if (pid == -1 || waitpid(pid, NULL, 0) == -1)
			broken("fork");
	}
}

int main(int argc, char *argv[])
{
	long threads = 1, children = 0, wait_s = 0;
	bool executes = false;
	int opt;

	while ((opt = getopt(argc, argv, "+t:r:m:f:ys:b:w:x")) != -1) {
		switch (opt) {
		case 't':
			threads = number(optarg);
			break;
		case 'r':
			rounds = number(optarg);
			break;
		case 'f':
			children = number(optarg);
			break;
		case 'y':
			yields = true;
			break;
		case 's':
			sleep_us = number(optarg);
			break;
		case 'b':
			busy = number(optarg);
			break;
		case 'w':
			wait_s = number(optarg);
			break;
		case 'x':
			executes = true;
			break;
		case 'm':
			add_cpus(optarg);
			break;
		default:
			return WORK_BROKEN;
		}
	}
	for (; optind < argc && strcmp(argv[optind], "--") != 0; optind++)
		add_event(argv[optind]);
	device = open("/dev/fakepmu", O_WRONLY | O_CLOEXEC);
	if (device == -1)
		broken("/dev/fakepmu");
	sleep((unsigned)wait_s);
	run_threads(threads);
	run_children(children, threads);
	if (executes && optind + 1 < argc) {
		execvp(argv[optind + 1], argv + optind + 1);
		broken(argv[optind + 1]);
	}
	return 0;
}
