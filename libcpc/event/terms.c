/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* terms.c - the terms of an event: counters of the kernel, usually a single one. */
#include "event.h"

#include <errno.h>
#include <stdlib.h>

int cpci_event_add(struct cpci_event *event, const struct cpci_term *term, struct cpci_diag *diag)
{
	struct cpci_term *terms;

	if (event->nterms == CPCI_MAX_TERMS)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "an event is made of no more than %d others", CPCI_MAX_TERMS);
	terms = reallocarray(event->term, event->nterms + 1U, sizeof(*terms));
	if (terms == NULL)
		return cpci_diag_nomem(diag);
	event->term = terms;
	terms[event->nterms++] = *term;
	return 0;
}

int cpci_event_single(struct cpci_event *event, const struct perf_event_attr *attr, uint_t flags,
		      struct cpci_diag *diag)
{
	struct cpci_term term = {.attr = *attr};

	cpci_perf_set_modes(&term.attr, flags);
	return cpci_event_add(event, &term, diag) == 0 ? 1 : -1;
}

void cpci_event_free(struct cpci_event *event)
{
	free(event->term);
	event->term = NULL;
	event->nterms = 0;
}
