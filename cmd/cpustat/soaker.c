/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * soaker.c - threads that keep CPUs from idling.
 */
#include "soaker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct soaker {
	pthread_t thread;
	atomic_bool on;
	sem_t wake; /* posted after `on` is set */
};

/* The thread is never joined; it ends with the process. */
static void *spin(void *arg)
{
	struct soaker *soaker = arg;

	for (;;) {
		while (atomic_load_explicit(&soaker->on, memory_order_relaxed))
			;
		sem_wait(&soaker->wake);
	}
	return NULL;
}

static struct soaker *new_soaker(void)
{
	const struct sched_param param = {0};
	struct soaker *soaker = calloc(1, sizeof(*soaker));
	sigset_t all, old;
	int rc;

	if (soaker == NULL)
		return NULL;
	sem_init(&soaker->wake, 0, 0);
	/* The thread inherits this mask, so that the main thread gets all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&soaker->thread, NULL, spin, soaker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0) {
		free(soaker);
		errno = rc;
		return NULL;
	}
	pthread_detach(soaker->thread);
	/* glibc refuses SCHED_IDLE in thread attributes: set it afterwards. */
	pthread_setschedparam(soaker->thread, SCHED_IDLE, &param);
	return soaker;
}

/* Called at each start: a CPU that went offline has lost its threads to other CPUs. */
static int move_to_cpu(pthread_t thread, int cpu)
{
	size_t ncpus = (size_t)cpu + 1, size = CPU_ALLOC_SIZE(ncpus);
	cpu_set_t *mask = CPU_ALLOC(ncpus);
	int rc;

	if (mask == NULL)
		return ENOMEM;
	CPU_ZERO_S(size, mask);
	CPU_SET_S((size_t)cpu, size, mask);
	rc = pthread_setaffinity_np(thread, size, mask);
	CPU_FREE(mask);
	return rc;
}

int soaker_start(struct soaker **soaker, int cpu)
{
	int rc;

	if (*soaker == NULL)
		*soaker = new_soaker();
	if (*soaker == NULL)
		return errno;
	rc = move_to_cpu((*soaker)->thread, cpu);
	if (rc != 0)
		return rc;
	atomic_store(&(*soaker)->on, true);
	sem_post(&(*soaker)->wake);
	return 0;
}

void soaker_stop(struct soaker *soaker)
{
	atomic_store(&soaker->on, false);
}
