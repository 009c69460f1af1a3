/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * debugreg.c - the debug registers, of which an LWP has only a few.
 *
 * An event occupies its register as soon as it is opened, even if it is disabled.  The caller and
 * the LWP to be counted may occupy some.  So a new thread, which occupies none, finds out how
 * many registers there are.
 */
#include "group.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define MAX_REGISTERS 64

struct probe {
	const struct cpci_plan *plan;
	const struct cpci_term *term;
	bool all;      /* there are enough for all breakpoints of the plan */
	uint_t number; /* how many `term` can use */
};

/* Occupies a register by a disabled breakpoint. */
static bool occupy(const struct cpci_term *term, int *fd, uint_t *n)
{
	if (*n == MAX_REGISTERS ||
	    (fd[*n] = cpci_term_open(term, CPCI_TARGET_SELF, -1, true)) == -1)
		return false;
	++*n;
	return true;
}

static void close_events(const int *fd, uint_t n)
{
	while (n-- > 0)
		close(fd[n]);
}

static void *try_registers(void *arg)
{
	struct probe *probe = arg;
	const struct cpci_plan *plan = probe->plan;
	int fd[MAX_REGISTERS];
	uint_t n = 0;

	probe->all = true;
	for (uint_t i = 0; probe->all && i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);

		if (term->attr.type == PERF_TYPE_BREAKPOINT)
			probe->all = occupy(term, fd, &n);
	}
	close_events(fd, n);
	for (n = 0; occupy(probe->term, fd, &n);)
		;
	close_events(fd, n);
	probe->number = n;
	return NULL;
}

bool cpci_debugreg_suffice(const struct cpci_plan *plan, const struct cpci_term *term,
			   uint_t *number)
{
	struct probe probe = {.plan = plan, .term = term};
	pthread_t thread;

	if (cpci_thread_create(&thread, try_registers, &probe) == 0)
		pthread_join(thread, NULL);
	else
		try_registers(&probe);
	*number = probe.number;
	return probe.all;
}
