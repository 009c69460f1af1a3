/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defaults.c - the events that are counted without -c.
 */
#include "defaults.h"

#include "trial.h"

#include <bsd/string.h>

static const char *const events[] = {"task-clock", "context-switches", "page-faults", "cycles",
				     "instructions"};

#define NEVENTS (sizeof(events) / sizeof(*events))

void defaults_find(cpc_t *cpc, bool of_cpus, char *spec, size_t size)
{
	const char *chosen[NEVENTS] = {events[0]};
	size_t n = 1;

	strlcpy(spec, events[0], size);
	for (size_t i = 1; i < NEVENTS; i++) {
		chosen[n] = events[i];
		if (trial_refusal(cpc, chosen, n + 1, of_cpus) != NULL)
			continue;
		n++;
		strlcat(spec, ",", size);
		strlcat(spec, events[i], size);
	}
}
