/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * enable.c - counters are switched off and on: by the LWP that they count, or by
 * whoever controls it.
 */
#include "set.h"

#include <errno.h>

static int switch_counters(cpc_set_t *set, bool on)
{
	set->off = !on;
	if (cpci_epoch_holds(&set->epoch, cpci_now()))
		return cpci_group_switch(set->plan, set->fd, on);
	errno = EAGAIN;
	return -1;
}

static int switch_lwp(const cpc_t *cpc, bool on)
{
	cpc_set_t *set = cpci_link_own();

	if (set != NULL && set->cpc == cpc && set->bound == CPCI_LWP)
		return switch_counters(set, on);
	if (pctx_call(on ? CPC_CALL_ENABLE : CPC_CALL_DISABLE) == 0)
		return 0;
	if (errno != EAGAIN)
		errno = EINVAL;
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
	if (set->cpc != cpc || set->bound != CPCI_PCTX)
		return cpci_failf(cpc, fn, EINVAL, 0,
				  set->cpc != cpc ? "the set was made with another handle"
						  : "the set is not bound by cpc_bind_pctx()");
	if (switch_counters(set, on) == -1)
		return cpci_failf(cpc, fn, errno, 0,
				  "the set lost its counters to others, or was invalidated");
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
