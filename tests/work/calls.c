/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * calls [-f] [-l LIBRARY | -d LIBRARY | -u LIBRARY] N [THREADS] - load a library, call
 * functions N times, and in each of THREADS threads at once; -d: load it when the threads are
 * there, -u: and also before, but unload it; -f: all of that in a child.
 *
 * Known: hit() is called N times by each LWP, and so is lib_called() of the library, which
 * its constructor calls 7 times before, each time that it is loaded.
 */
#include "work.h"

#include <dlfcn.h>
#include <sys/wait.h>

static void (*lib)(void);
static pthread_barrier_t ready;

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
	pthread_barrier_wait(&ready);
	for (long n = *(const long *)arg; n > 0; n--) {
		hit();
		if (lib != NULL)
			lib();
	}
	return NULL;
}

static void *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	void *symbol = handle != NULL ? dlsym(handle, "lib_called") : NULL;

	if (symbol == NULL) {
		fprintf(stderr, "calls: %s\n", dlerror());
		exit(1);
	}
	memcpy(&lib, &symbol, sizeof(lib));
	return handle;
}

static void *work_in_thread(void *arg)
{
	pthread_barrier_wait(&ready); /* it has begun, and nothing was loaded late yet */
	return work(arg);
}

/* Only the child goes on, and ends for its parent, too. */
static void go_on_in_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		return;
	if (waitpid(pid, &status, 0) != pid)
		exit(1);
	exit(status == 0 ? 0 : 1);
}

int main(int argc, char *argv[])
{
	const char *early = NULL, *late = NULL;
	pthread_t thread[64];
	long n, threads;
	int opt;

	while ((opt = getopt(argc, argv, "d:fl:u:")) != -1) {
		if (opt == 'u')
			dlclose(load(optarg));
		if (opt == 'd' || opt == 'u')
			late = optarg;
		else if (opt == 'l')
			early = optarg;
		else
			go_on_in_child();
	}
	n = number(optind < argc ? argv[optind] : "");
	threads = optind + 1 < argc ? number(argv[optind + 1]) : 0;
	if (threads > 64)
		threads = 64;
	pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
	if (early != NULL)
		load(early);
	for (long i = 0; i < threads; i++)
		thread[i] = start_thread(work_in_thread, &n);
	pthread_barrier_wait(&ready);
	if (late != NULL)
		load(late);
	work(&n);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
