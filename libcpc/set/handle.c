/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* handle.c - opens and closes the library. */
#include "set.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static LIST_HEAD(handles, cpc) handles = LIST_HEAD_INITIALIZER(handles);

/*
 * A forked child has its parent's memory, but counts nothing.  It closes the parent's files,
 * which would keep the counters in use after the parent unbinds.
 */
static void forked(void)
{
	cpc_t *cpc;
	cpc_set_t *set;

	cpci_lock_in_child();
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
	/* pthread_atfork(3) takes the locks in reverse order of registration. */
	pthread_atfork(cpci_closer_before_fork, cpci_closer_after_fork, cpci_closer_forked);
	/*
	 * No fork in the middle of another thread's bind: the child would have files without
	 * a set.
	 */
	pthread_atfork(cpci_lock_before_fork, cpci_lock_after_fork, forked);
}

static cpc_t *new_handle(void)
{
	cpc_t *cpc;

	if (cpci_paranoid() == INT_MIN) {
		errno = ENOSYS;
		return NULL;
	}
	cpc = calloc(1, sizeof(*cpc));
	if (cpc == NULL)
		return NULL;
	LIST_INIT(&cpc->sets);
	LIST_INIT(&cpc->bufs);
	cpci_clock_start(&cpc->clock);
	LIST_INSERT_HEAD(&handles, cpc, entry);
	return cpc;
}

cpc_t *cpc_open(int ver)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	cpc_t *cpc;
	int cancel;

	if (ver != CPC_VER_CURRENT) {
		errno = EINVAL;
		return NULL;
	}
	pthread_once(&once, watch_forks);
	cancel = cpci_lock();
	cpc = new_handle();
	cpci_unlock(cancel);
	return cpc;
}

uint_t cpc_leave_closing(void)
{
	return cpci_closer_leave();
}

int cpc_close(cpc_t *cpc)
{
	cpc_set_t *set;
	cpc_buf_t *buf;
	int cancel;

	while ((set = LIST_FIRST(&cpc->sets)) != NULL)
		cpc_set_destroy(cpc, set);
	while ((buf = LIST_FIRST(&cpc->bufs)) != NULL)
		cpc_buf_destroy(cpc, buf);
	cancel = cpci_lock();
	LIST_REMOVE(cpc, entry);
	cpci_defs_free(cpc->defs);
	cpci_symfiles_free(&cpc->symfiles);
	cpci_unlock(cancel);
	free(cpc);
	return 0;
}
