/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* modifier.c - refuses modifiers that are for samples only. */
#include "event.h"

#include <errno.h>
#include <string.h>

bool cpci_event_precise(const char *name, const char *word, size_t n, struct cpci_diag *diag)
{
	static const char option[] = "precise";
	bool letters = n > 0 && (strspn(word, "p") >= n || (n == 1 && *word == 'P'));

	if (!letters && (n < 2 || n >= sizeof(option) || strncmp(word, option, n) != 0))
		return false;
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
		  "invalid event '%s': '%.*s' makes samples precise; counts are always exact", name,
		  (int)n, word);
	return true;
}
