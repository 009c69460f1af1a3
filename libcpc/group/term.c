/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* term.c - the attr of a term. */
#include "group.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * The address of a breakpoint whose symbol is not known yet: no page is ever mapped so low
 * (vm.mmap_min_addr), and it is aligned for every length.
 */
#define NOWHERE 0xff8

struct perf_event_attr cpci_term_event(const struct cpci_term *term,
				       const struct cpci_symbol_addr *bp)
{
	struct perf_event_attr attr = term->attr;

	if (term->symbol[0] != '\0' && attr.type == PERF_TYPE_BREAKPOINT) {
		uint64_t len = bp != NULL ? bp->len : 0;

		attr.bp_addr = bp != NULL && bp->addr != 0 ? bp->addr : NOWHERE;
		if (attr.bp_len == 0)
			attr.bp_len = len == 1 || len == 2 || len == 8 ? len : 4;
	}
	if (bp != NULL && bp->counter != 0 && cpci_perf_is_uprobe(&attr))
		/* its format was checked when the probe was found */
		cpci_uprobe_counter(&attr, bp->counter);
	return attr;
}

bool cpci_term_is_filtered(const struct cpci_term *term)
{
	return term->attr.type == PERF_TYPE_TRACEPOINT && term->filter[0] != '\0';
}

int cpci_term_open(const struct cpci_term *term, struct cpci_target target, int leader,
		   bool disabled)
{
	struct perf_event_attr attr = cpci_term_event(term, NULL);

	return cpci_perf_open(&attr, target, leader, disabled);
}

struct cpci_symbol_addr *cpci_symbol_addrs_new(uint_t n)
{
	struct cpci_symbol_addr *at = calloc(n, sizeof(*at));

	for (uint_t i = 0; at != NULL && i < n; i++)
		at[i].file = -1;
	return at;
}

void cpci_symbol_addrs_close(struct cpci_symbol_addr *at, uint_t n)
{
	for (uint_t i = 0; at != NULL && i < n; i++) {
		if (at[i].file != -1)
			close(at[i].file);
		at[i].file = -1;
	}
}

void cpci_symbol_addrs_free(struct cpci_symbol_addr *at, uint_t n)
{
	cpci_symbol_addrs_close(at, n);
	free(at);
}
