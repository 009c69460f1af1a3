/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * percpu.c - the CPUs of this machine, and a set that counts on each of them.
 */
#include "percpu.h"

#include "../../libcpc/set/counter.h"
#include "../../liblwps/lwps.h"
#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The CPUs that may ever come online, as "0-3,8" (Documentation/admin-guide/cputopology.rst).  The
 * kernel has no per-CPU memory for other numbers.
 */
#define POSSIBLE "/sys/devices/system/cpu/possible"
#define MAX_CPUS (1 << 16)

bool percpu_find(struct percpu *cpus, char *why, size_t size)
{
	FILE *f = fopen(POSSIBLE, "re");
	const char *reason = f == NULL ? strerror(errno) : "it has no list of CPUs";
	struct cpu_range *range = NULL;
	char *line = NULL;
	size_t room = 0, n = 0, i;

	*cpus = (struct percpu){0};
	if (f != NULL && getline(&line, &room, f) != -1) {
		line[strcspn(line, "\n")] = '\0';
		n = parse_cpu_list(line, &range);
	}
	for (i = 0; i < n && range[i].first >= cpus->n && range[i].last < MAX_CPUS; i++) {
		const unsigned to = range[i].last;

		cpus->possible = xrealloc(cpus->possible, (to + 1) * sizeof(*cpus->possible));
		for (; cpus->n <= to; cpus->n++)
			cpus->possible[cpus->n] = cpus->n >= range[i].first;
	}
	cpus->set = xcalloc(cpus->n, sizeof(*cpus->set));
	if (n == 0 || i < n)
		snprintf(why, size, "the CPUs are not known: " POSSIBLE ": %s", reason);
	if (f != NULL)
		fclose(f);
	free(line);
	free(range);
	return n > 0 && i == n;
}

bool percpu_bind_cpu(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, unsigned cpu)
{
	progress_idle();
	if (!cpus->possible[cpu])
		return false;
	if (cpus->set[cpu] == NULL)
		cpus->set[cpu] = cpc_set_dup(cpc, set);
	return cpus->set[cpu] != NULL &&
	       cpc_bind_cpu(cpc, (processorid_t)cpu, cpus->set[cpu],
			    flags | CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED |
				    CPC_BIND_CPU_FILLED) == 0;
}

bool percpu_bind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, uint_t first,
		 char *why, size_t size)
{
	if (!percpu_find(cpus, why, size))
		return false;
	for (unsigned i = cpus->n; i-- > 0;) {
		if (!cpus->possible[i])
			continue;
		if (percpu_bind_cpu(cpus, cpc, set, flags | (cpus->bound == NULL ? first : 0), i)) {
			if (cpus->bound == NULL)
				cpus->bound = cpus->set[i];
			continue;
		}
		if (cpus->set[i] == NULL || errno != ENOSYS) {
			bool denied = errno == EACCES || errno == EPERM;

			strlcpy(why, denied ? lwps_denied() : cpcerr_text(), size);
			return false;
		}
		cpc_set_destroy(cpc, cpus->set[i]);
		cpus->set[i] = NULL;
	}
	return true;
}

void percpu_switch(const struct percpu *cpus, cpc_t *cpc, bool on)
{
	for (unsigned i = 0; i < cpus->n; i++) {
		if (cpus->set[i] != NULL && on)
			cpc_set_enable(cpc, cpus->set[i]);
		else if (cpus->set[i] != NULL)
			cpc_set_disable(cpc, cpus->set[i]);
	}
}

/* Looks at all CPUs: a set that was lost may be unbound, or bound again after a claim. */
bool percpu_holds(const struct percpu *cpus, cpc_t *cpc, hrtime_t now)
{
	bool holds = true;

	for (unsigned i = 0; i < cpus->n && holds; i++)
		holds = cpus->set[i] == NULL || cpc_set_holds(cpc, cpus->set[i], now) != 0;
	return holds;
}

void percpu_unbind(struct percpu *cpus, cpc_t *cpc)
{
	for (unsigned i = 0; cpus->set != NULL && i < cpus->n; i++) {
		if (cpus->set[i] != NULL)
			cpc_set_destroy(cpc, cpus->set[i]);
	}
	free(cpus->set);
	free(cpus->possible);
}

void percpu_warn_of_returns(cpc_t *cpc, const cpc_set_t *set, const char *spec)
{
	int n = cpc_set_counters(cpc, set, NULL, 0);
	struct cpc_counter *counter = xcalloc((size_t)(n > 0 ? n : 1), sizeof(*counter));
	bool returns = false;

	cpc_set_counters(cpc, set, counter, n > 0 ? (uint_t)n : 0);
	for (int i = 0; i < n; i++)
		returns |= counter[i].returns != 0;
	free(counter);
	if (returns)
		say("caution: '%s' probes returns in all processes that run the file: those that "
		    "leave the function by an exception, or return on another stack, are killed",
		    spec);
}
