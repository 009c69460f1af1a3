/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * trial.c - binds events for a moment, to find out whether this user can count them here, and to
 * choose the events that are counted without -c.
 */
#include "trial.h"

#include "../base/util.h"

#include <bsd/string.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

const char *trial_refusal(cpc_t *cpc, const char *const *event, size_t n, bool on_cpu)
{
	cpc_set_t *set = cpc_set_create(cpc);
	int rc = 0;

	if (set == NULL)
		return strerror(errno);
	for (size_t i = 0; i < n && rc != -1; i++)
		rc = cpc_set_add_request(cpc, set, event[i], 0, CPC_COUNT_USER, 0, NULL);
	if (rc != -1 && on_cpu)
		rc = cpc_bind_cpu(cpc, sched_getcpu(), set,
				  CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED);
	else if (rc != -1)
		rc = cpc_bind_curlwp(cpc, set, CPC_BIND_LATE);
	cpc_set_destroy(cpc, set);
	return rc != -1 ? NULL : cpcerr_text();
}

void trial_choose(cpc_t *cpc, bool on_cpu, const char *times, char *spec, size_t size)
{
	static const char *const events[] = {"context-switches", "page-faults", "cycles",
					     "instructions"};
	const char *chosen[sizeof(events) / sizeof(*events)];
	size_t n = 0;

	strlcpy(spec, times != NULL ? times : "", size);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		chosen[n] = events[i];
		if ((times != NULL || i > 0) && trial_refusal(cpc, chosen, n + 1, on_cpu) != NULL)
			continue;
		n++;
		if (*spec != '\0')
			strlcat(spec, ",", size);
		strlcat(spec, events[i], size);
	}
}
