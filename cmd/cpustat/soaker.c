/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * soaker.c - threads that keep CPUs from idling.
 */
#include "soaker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct soaker {
	atomic_bool stop;
	size_t n;
	pthread_t thread[];
};

static void *spin(void *arg)
{
	struct soaker *soaker = arg;

	while (!atomic_load_explicit(&soaker->stop, memory_order_relaxed))
		;
	return NULL;
}

static int start_one(struct soaker *soaker, int cpu)
{
	const struct sched_param param = {0};
	size_t ncpus = (size_t)cpu + 1, size = CPU_ALLOC_SIZE(ncpus);
	cpu_set_t *mask = CPU_ALLOC(ncpus);
	pthread_attr_t attr;
	int rc;

	if (mask == NULL)
		return ENOMEM;
	CPU_ZERO_S(size, mask);
	CPU_SET_S((size_t)cpu, size, mask);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	rc = pthread_attr_setschedpolicy(&attr, SCHED_IDLE);
	if (rc == EINVAL) {
		/* glibc knows the three policies of POSIX only; see below. */
		pthread_attr_setinheritsched(&attr, PTHREAD_INHERIT_SCHED);
		rc = 0;
	}
	if (rc == 0)
		rc = pthread_attr_setaffinity_np(&attr, size, mask);
	if (rc == 0)
		rc = pthread_create(&soaker->thread[soaker->n], &attr, spin, soaker);
	pthread_attr_destroy(&attr);
	CPU_FREE(mask);
	if (rc != 0)
		return rc;
	rc = pthread_setschedparam(soaker->thread[soaker->n++], SCHED_IDLE, &param);
	return rc;
}

struct soaker *soaker_start(const int *cpu, size_t n)
{
	struct soaker *soaker = calloc(1, sizeof(*soaker) + n * sizeof(soaker->thread[0]));
	sigset_t all, old;
	int rc = 0;

	if (soaker == NULL)
		return NULL;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = start_one(soaker, cpu[i]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0) {
		soaker_stop(soaker);
		errno = rc;
		return NULL;
	}
	return soaker;
}

void soaker_stop(struct soaker *soaker)
{
	atomic_store(&soaker->stop, true);
	for (size_t i = 0; i < soaker->n; i++)
		pthread_join(soaker->thread[i], NULL);
	free(soaker);
}
