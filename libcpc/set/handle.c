/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * handle.c - open and close the library.
 */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static LIST_HEAD(handles, cpc) handles = LIST_HEAD_INITIALIZER(handles);

/* Not in the middle of a bind of another thread: the child would have files of no set. */
static void before_fork(void)
{
	pthread_mutex_lock(&cpci_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&cpci_lock);
}

/*
 * A forked child has its parent's memory, but counts nothing.  The files would keep the
 * parent's counters from being free when it unbinds.
 */
static void forked(void)
{
	cpc_t *cpc;
	cpc_set_t *set;

	cpci_lock = (pthread_mutex_t)CPCI_LOCK_INITIALIZER; /* its owner was another thread */
	cpci_self_forget();
	cpci_claims_forget();
	cpci_copies_forget();
	cpci_poller_forked();
	LIST_FOREACH(cpc, &handles, entry) {
		LIST_FOREACH(set, &cpc->sets, entry) {
			if (set->bound != CPCI_UNBOUND)
				cpci_unbind_inherited(set);
		}
	}
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, forked);
}

cpc_t *cpc_open(int ver)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cpc_t *cpc;

	if (ver != CPC_VER_CURRENT) {
		errno = EINVAL;
		return NULL;
	}
	if (cpci_paranoid() == INT_MIN) {
		errno = ENOSYS;
		return NULL;
	}
	pthread_once(&once, watch_forks);
	cpc = calloc(1, sizeof(*cpc));
	if (cpc == NULL)
		return NULL;
	LIST_INIT(&cpc->sets);
	LIST_INIT(&cpc->bufs);
	cpci_clock_start(&cpc->clock);
	pthread_mutex_lock(&cpci_lock);
	LIST_INSERT_HEAD(&handles, cpc, entry);
	pthread_mutex_unlock(&cpci_lock);
	return cpc;
}

int cpc_close(cpc_t *cpc)
{
	cpc_set_t *set;
	cpc_buf_t *buf;

	while ((set = LIST_FIRST(&cpc->sets)) != NULL)
		cpc_set_destroy(cpc, set);
	while ((buf = LIST_FIRST(&cpc->bufs)) != NULL)
		cpc_buf_destroy(cpc, buf);
	pthread_mutex_lock(&cpci_lock);
	LIST_REMOVE(cpc, entry);
	pthread_mutex_unlock(&cpci_lock);
	cpci_defs_free(cpc->defs);
	cpci_symfiles_free(&cpc->symfiles);
	free(cpc);
	return 0;
}
