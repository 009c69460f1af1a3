/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* enable.c - switches counters off and on, for the LWP that they count or for its controller. */
#include "counter.h"
#include "set.h"

#include <errno.h>

static int switch_counters(cpc_set_t *set, bool on)
{
	int rc;

	if (!cpci_epoch_check(&set->epoch, cpci_now()))
		return cpci_errno(EAGAIN);
	rc = set->overflow != NULL ? cpci_overflow_switch(set, on)
				   : cpci_group_switch(set->plan, set->fd, on);
	/* Lost counters can be switched off, but not on. */
	if (rc == 0 || !on)
		set->off = !on;
	return rc;
}

static int switch_lwp(const cpc_t *cpc, bool on)
{
	cpc_set_t *set = cpci_link_own();

	if (cpci_check_handle(cpc) == -1)
		return -1;
	if (set != NULL && set->cpc == cpc && set->bound == CPCI_LWP)
		return switch_counters(set, on);
	if (pctx_request(on ? CPC_REQUEST_ENABLE : CPC_REQUEST_DISABLE) == 0)
		return 0;
	if (errno != EAGAIN)
		errno = EINVAL;
	return -1;
}

/* Runs in the process that controls the LWP. */
static int answer(int op, void *arg)
{
	struct cpci_link *link = arg;
	cpc_set_t *set = link->set;

	if (op != CPC_REQUEST_ENABLE && op != CPC_REQUEST_DISABLE)
		return ESRCH;
	if (set == NULL)
		return link->lost ? EAGAIN : ESRCH;
	return switch_counters(set, op == CPC_REQUEST_ENABLE) == 0 ? 0 : errno;
}

static void release(void *arg)
{
	cpci_link_drop(arg);
}

int cpci_answer_lwp(pctx_t *pctx, id_t lwp, struct cpci_link *link)
{
	link->refs++;
	if (pctx_lwp_answer(pctx, lwp, answer, link, release) == 0)
		return 0;
	link->refs--;
	return -1;
}

int cpc_enable(cpc_t *cpc)
{
	return switch_lwp(cpc, true);
}

int cpc_disable(cpc_t *cpc)
{
	return switch_lwp(cpc, false);
}

static int switch_set(cpc_t *cpc, const char *fn, cpc_set_t *set, bool on)
{
	if (cpci_check_set(cpc, fn, set) == -1)
		return -1;
	if (set->bound != CPCI_PCTX && !set->lwps)
		return cpci_failf(cpc, fn, EINVAL, 0, "the set is not bound by cpc_bind_pctx()");
	if (switch_counters(set, on) == -1)
		return cpci_failf(
			cpc, fn, errno, 0,
			"another program took the set's counters, or the set was invalidated");
	return 0;
}

int cpc_set_enable(cpc_t *cpc, cpc_set_t *set)
{
	return switch_set(cpc, "cpc_set_enable", set, true);
}

int cpc_set_disable(cpc_t *cpc, cpc_set_t *set)
{
	return switch_set(cpc, "cpc_set_disable", set, false);
}

int cpc_set_enabled(cpc_t *cpc, const cpc_set_t *set)
{
	set = cpci_bound_set(cpc, "cpc_set_enabled", set);
	return set != NULL ? !set->off : -1;
}
