/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * calls [-l LIBRARY] N [THREADS] - load a library, call functions N times, and then N times in
 * each of THREADS threads at once.
 *
 * Known: hit() is called N times by each LWP, and so is lib_called() of the library, which
 * its constructor calls 7 times before.
 */
#include "work.h"

#include <dlfcn.h>

static void (*lib)(void);

__attribute__((noinline)) static void inner(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Begins with a call or a push, which the kernel need not single-step. */
__attribute__((noinline)) void hit(void)
{
	inner();
	__asm__ volatile("" ::: "memory");
}

static void *work(void *arg)
{
	for (long n = *(const long *)arg; n > 0; n--) {
		hit();
		if (lib != NULL)
			lib();
	}
	return NULL;
}

static void load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *symbol = handle != NULL ? dlsym(handle, "lib_called") : NULL;

	if (symbol == NULL) {
		fprintf(stderr, "calls: %s\n", dlerror());
		exit(1);
	}
	memcpy(&lib, &symbol, sizeof(lib));
}

int main(int argc, char *argv[])
{
	pthread_t thread[64];
	long n, threads;

	if (getopt(argc, argv, "l:") == 'l')
		load(optarg);
	n = number(optind < argc ? argv[optind] : "");
	threads = optind + 1 < argc ? number(argv[optind + 1]) : 0;
	if (threads > 64)
		threads = 64;
	work(&n);
	for (long i = 0; i < threads; i++)
		thread[i] = start_thread(work, &n);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
