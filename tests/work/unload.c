/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * unload LIBRARY - opens a shared object with libcpc, counts with it in a thread, and closes it
 * before the thread ends and a signal of an overflow comes.
 *
 * Known: PASS.
 */
#include "work.h"

#include <dlfcn.h>
#include <libcpc.h>
#include <pthread.h>
#include <signal.h>

static void *library;
static pthread_barrier_t barrier;

#define CALL(function) ((__typeof__(function) *)(uintptr_t)dlsym(library, #function))

static void *count(void *arg)
{
	cpc_t *cpc = CALL(cpc_open)(CPC_VER_CURRENT);
	cpc_set_t *set = CALL(cpc_set_create)(cpc);

	must(CALL(cpc_set_add_request)(cpc, set, "page-faults", UINT64_MAX - 1000000,
				       CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL) == 0,
	     "cpc_set_add_request");
	must(CALL(cpc_bind_curlwp)(cpc, set, 0) == 0, "cpc_bind_curlwp");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* it is closed */
	return arg;
}

/* The library handles its own signal, and ignores one that it did not send. */
static void raise_all(void)
{
	struct sigaction act;

	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
		if (sigaction(sig, NULL, &act) == 0 && act.sa_handler != SIG_DFL)
			raise(sig);
	}
}

int main(int argc, char *argv[])
{
	pthread_t thread;

	must(argc == 2, "usage: unload LIBRARY");
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	must(library != NULL, "dlopen");
	pthread_barrier_init(&barrier, NULL, 2);
	must(pthread_create(&thread, NULL, count, NULL) == 0, "pthread_create");
	pthread_barrier_wait(&barrier);
	must(dlclose(library) == 0, "dlclose");
	pthread_barrier_wait(&barrier);
	must(pthread_join(thread, NULL) == 0, "pthread_join");
	raise_all();
	puts("PASS");
	return 0;
}
