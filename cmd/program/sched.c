/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sched.c - finds the events of the scheduler in sets.
 */
#include "sched.h"

#include "../base/util.h"

#include <stdlib.h>

unsigned sched_events_of(const struct setgrp *grp, cpc_t *cpc, const char **name)
{
	unsigned events = 0;

	for (size_t k = 0; k < grp->n; k++) {
		const struct setgrp_set *set = &grp->set[k];
		const int n = cpc_set_counters(cpc, set->set, NULL, 0);
		struct cpc_counter *counter = xcalloc((size_t)n + 1, sizeof(*counter));

		cpc_set_counters(cpc, set->set, counter, (uint_t)n);
		for (int i = 0; i < n; i++) {
			if (!cpc_is_sched_event(counter[i].attr))
				continue;
			if (name != NULL && events == 0)
				*name = set->spec.req[counter[i].index].event;
			events |= CPC_SCHED_BIT(counter[i].attr->config);
		}
		free(counter);
	}
	return events;
}
