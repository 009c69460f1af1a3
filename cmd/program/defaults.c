/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defaults.c - the events that are counted without -c.
 */
#include "defaults.h"

#include <bsd/string.h>
#include <sched.h>

static const char *const events[] = {"task-clock", "context-switches", "page-faults", "cycles",
				     "instructions"};

#define NEVENTS (sizeof(events) / sizeof(*events))

/* Can the events of `chosen` be counted together now, in user mode? */
static bool can_count(cpc_t *cpc, bool of_cpus, const bool *chosen)
{
	cpc_set_t *set = cpc_set_create(cpc);
	int rc = set != NULL ? 0 : -1;

	for (size_t i = 0; i < NEVENTS && rc != -1; i++) {
		if (chosen[i])
			rc = cpc_set_add_request(cpc, set, events[i], 0, CPC_COUNT_USER, 0, NULL);
	}
	if (rc != -1 && of_cpus)
		rc = cpc_bind_cpu(cpc, sched_getcpu(), set,
				  CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED);
	else if (rc != -1)
		rc = cpc_bind_curlwp(cpc, set, 0);
	if (set != NULL)
		cpc_set_destroy(cpc, set);
	return rc != -1;
}

void defaults_find(cpc_t *cpc, bool of_cpus, char *spec, size_t size)
{
	bool chosen[NEVENTS] = {true};

	strlcpy(spec, events[0], size);
	for (size_t i = 1; i < NEVENTS; i++) {
		chosen[i] = true;
		chosen[i] = can_count(cpc, of_cpus, chosen);
		if (!chosen[i])
			continue;
		strlcat(spec, ",", size);
		strlcat(spec, events[i], size);
	}
}
