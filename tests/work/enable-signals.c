/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * enable-signals MODE N - use SIGURG and SIGWINCH while calling cpc_enable() and
 * cpc_disable(), which send one of the two to the calling thread.
 *
 *   threads  another thread sends this one N times SIGURG, which has a handler
 *   process  another thread sends this process N times both, and both have handlers
 *   blocked  both are blocked and pending for the process and have handlers, during
 *            N brackets
 *   waited   as blocked, without handlers; sigtimedwait(2) takes them afterwards
 *   own      as blocked, SIGURG pending for the thread
 *   handler  N times SIGALRM, whose handler calls cpc_enable() and cpc_disable(), also
 *            when it interrupts them
 *
 * Known: prints how often each signal came, and why brackets failed.  The status is not 0
 * when one came too often or not at all, or when a bracket changed the signal mask.
 */
#include "work.h"

#include <libcpc.h>
#include <stdatomic.h>
#include <sys/time.h>

static cpc_t *cpc;
static atomic_long came[65], failed, n;
static atomic_int why;
static pthread_t main_thread;

static void bracket(void)
{
	sigset_t before, after;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	if (cpc_enable(cpc) != 0 || cpc_disable(cpc) != 0) {
		failed++;
		why = errno;
	}
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	if (memcmp(&before, &after, _NSIG / 8) != 0)
		broken("the mask changed");
}

static void count(int sig)
{
	came[sig]++;
}

static void count_bracket(int sig)
{
	int saved = errno;

	bracket();
	came[sig]++;
	errno = saved;
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};

	if (sigaction(sig, &act, NULL) == -1)
		broken("sigaction");
}

/* Legacy signals do not queue: the next is sent when the last one has come. */
static void *send_thread(void *arg)
{
	for (long i = 1; i <= n; i++) {
		pthread_kill(main_thread, SIGURG);
		while (came[SIGURG] < i)
			sched_yield();
	}
	return arg;
}

static void *send_process(void *arg)
{
	for (long i = 1; i <= n; i++) {
		kill(getpid(), SIGURG);
		kill(getpid(), SIGWINCH);
		while (came[SIGURG] < i || came[SIGWINCH] < i)
			sched_yield();
	}
	return arg;
}

static sigset_t both(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigaddset(&set, SIGWINCH);
	return set;
}

/* Brackets while a thread, which has both signals blocked, sends them. */
static void meanwhile(void *(*sender)(void *), bool two)
{
	sigset_t set = both();
	pthread_t thread;

	main_thread = pthread_self();
	handle(SIGURG, count);
	if (two)
		handle(SIGWINCH, count);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	thread = start_thread(sender, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	while (came[SIGURG] < n || (two && came[SIGWINCH] < n))
		bracket();
	pthread_join(thread, NULL);
}

static void pending(bool handlers, bool own)
{
	const struct timespec now = {0};
	sigset_t set = both();
	int sig;

	if (handlers) {
		handle(SIGURG, count);
		handle(SIGWINCH, count);
	}
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (own)
		raise(SIGURG);
	else
		kill(getpid(), SIGURG);
	kill(getpid(), SIGWINCH);
	for (long i = 0; i < n; i++)
		bracket();
	if (came[SIGURG] != 0 || came[SIGWINCH] != 0)
		broken("a blocked signal came");
	if (handlers)
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	else
		while ((sig = sigtimedwait(&set, NULL, &now)) > 0)
			came[sig]++;
	n = 1; /* expected, of each */
}

/*
 * One alarm at a time: where a bracket takes longer than the interval, as under strace, an
 * interval timer would leave no time for anything but its handler.
 */
static void in_handler(void)
{
	struct itimerval once = {.it_value = {0, 200}};
	long seen = -1;

	handle(SIGALRM, count_bracket);
	while (came[SIGALRM] < n) {
		if (came[SIGALRM] != seen) {
			seen = came[SIGALRM];
			setitimer(ITIMER_REAL, &once, NULL);
		}
		bracket();
	}
	came[SIGURG] = came[SIGWINCH] = n;
}

int main(int argc, char *argv[])
{
	const char *mode = argc == 3 ? argv[1] : "";

	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		broken("cpc_open");
	n = number(argc == 3 ? argv[2] : "");
	if (strcmp(mode, "threads") == 0)
		meanwhile(send_thread, false);
	else if (strcmp(mode, "process") == 0)
		meanwhile(send_process, true);
	else if (strcmp(mode, "handler") == 0)
		in_handler();
	else
		pending(strcmp(mode, "waited") != 0, strcmp(mode, "own") == 0);
	printf("URG %ld, WINCH %ld, %s\n", (long)came[SIGURG], (long)came[SIGWINCH],
	       failed == 0 ? "all well" : strerror(why));
	fflush(stdout);
	_exit(came[SIGURG] == n && (came[SIGWINCH] == n || strcmp(mode, "threads") == 0) ? 0 : 1);
}
