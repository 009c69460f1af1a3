/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * enable-disable [-w] [-n TIMES] [-t THREADS] N - work in brackets of cpc_enable() and
 * cpc_disable(): the main LWP, or the n-th of THREADS threads with n times the N, one
 * after the other.  Without operands it prints the address of hit(), which is always there.
 *
 * Known: an LWP calls hit() 2 N times; switches the counters off; calls it 3 N times and
 * touches 3 N fresh pages; then, TIMES times (1), between brackets, calls it N times and
 * touches N fresh pages; again 3 N after that.  -w: it says "ready" and waits for a
 * character before, in each bracket, and after the last of them; cpc_enable and
 * cpc_disable fail: status 1.
 */
#include "work.h"

#include <libcpc.h>

static struct {
	cpc_t *cpc;
	bool wait;
	long times, n;
} conf = {.times = 1};

__attribute__((noinline)) static void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

static void work(long n)
{
	for (long i = 0; i < n; i++)
		hit();
	touch_pages(n);
}

static void turn(const char *what, int (*fn)(cpc_t *))
{
	if (fn(conf.cpc) == 0)
		return;
	printf("%s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static void ready(void)
{
	char c;

	if (!conf.wait)
		return;
	say("ready\n");
	if (read(STDIN_FILENO, &c, 1) != 1)
		broken("stdin");
}

static void *bracket(void *arg)
{
	long n = *(long *)arg;

	ready();
	for (long i = 0; i < 2 * n; i++)
		hit();
	turn("cpc_disable", cpc_disable);
	work(3 * n);
	for (long i = 0; i < conf.times; i++) {
		turn("cpc_enable", cpc_enable);
		ready();
		work(n);
		turn("cpc_disable", cpc_disable);
	}
	work(3 * n);
	ready();
	return NULL;
}

int main(int argc, char *argv[])
{
	long threads = 0, n;
	int opt;

	if (argc < 2) {
		printf("%#lx\n", (unsigned long)(uintptr_t)&hit);
		return 0;
	}
	while ((opt = getopt(argc, argv, "wn:t:")) != -1) {
		if (opt == 'w')
			conf.wait = true;
		else if (opt == 'n')
			conf.times = number(optarg);
		else if (opt == 't')
			threads = number(optarg);
		else
			return WORK_BROKEN;
	}
	conf.n = operand(argc, argv, optind);
	conf.cpc = cpc_open(CPC_VER_CURRENT);
	if (conf.cpc == NULL)
		broken("cpc_open");
	if (threads == 0)
		bracket(&conf.n);
	for (long i = 1; i <= threads; i++) {
		n = i * conf.n;
		pthread_join(start_thread(bracket, &n), NULL);
	}
	_exit(0); /* a sanitizer that looks for leaks does not work when traced */
}
