/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * percpu.c - the CPUs of this machine, and a set that counts on each of them.
 */
#include "percpu.h"

#include "../../liblwps/lwps.h"
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

/* Reads a range, and returns the character after it: ',' or '\n'; 0: not a range. */
static int take_range(FILE *f, unsigned *from, unsigned *to)
{
	int end;

	if (fscanf(f, "%u", from) != 1)
		return 0;
	*to = *from;
	end = getc(f);
	if (end == '-') {
		if (fscanf(f, "%u", to) != 1)
			return 0;
		end = getc(f);
	}
	return *to >= *from && (end == ',' || end == '\n') ? end : 0;
}

/* Reads the list of possible CPUs.  False: not a list. */
static bool take_list(FILE *f, struct percpu *cpus)
{
	unsigned from, to;
	int end;

	do {
		end = take_range(f, &from, &to);
		if (end == 0 || from < cpus->n || to >= MAX_CPUS)
			return false;
		cpus->possible = xrealloc(cpus->possible, (to + 1) * sizeof(*cpus->possible));
		for (; cpus->n <= to; cpus->n++)
			cpus->possible[cpus->n] = cpus->n >= from;
	} while (end == ',');
	return true;
}

static bool find_possible(struct percpu *cpus, char *why, size_t size)
{
	FILE *f = fopen(POSSIBLE, "re");
	const char *reason = f == NULL ? strerror(errno) : "it has no list of CPUs";
	bool good = f != NULL && take_list(f, cpus);

	if (f != NULL)
		fclose(f);
	if (!good)
		snprintf(why, size, "the CPUs are not known: " POSSIBLE ": %s", reason);
	return good;
}

bool percpu_bind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, uint_t first,
		 char *why, size_t size)
{
	*cpus = (struct percpu){0};
	if (!find_possible(cpus, why, size))
		return false;
	cpus->set = xcalloc(cpus->n, sizeof(*cpus->set));
	for (unsigned i = cpus->n; i-- > 0;) {
		if (!cpus->possible[i])
			continue;
		cpus->set[i] = cpc_set_dup(cpc, set);
		if (cpus->set[i] != NULL &&
		    cpc_bind_cpu(cpc, (processorid_t)i, cpus->set[i],
				 flags | (cpus->bound == NULL ? first : 0) | CPC_BIND_CPU_REMOTE |
					 CPC_BIND_CPU_SHARED) == 0) {
			if (cpus->bound == NULL)
				cpus->bound = cpus->set[i];
			continue;
		}
		if (cpus->set[i] == NULL || errno != ENOSYS) {
			bool denied = errno == EACCES || errno == EPERM;

			strlcpy(why, denied ? LWPS_PRIVILEGES : cpcerr_text(), size);
			return false;
		}
		cpc_set_destroy(cpc, cpus->set[i]);
		cpus->set[i] = NULL;
	}
	return true;
}

bool percpu_rebind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, unsigned cpu)
{
	if (!cpus->possible[cpu])
		return false;
	if (cpus->set[cpu] == NULL)
		cpus->set[cpu] = cpc_set_dup(cpc, set);
	return cpus->set[cpu] != NULL &&
	       cpc_bind_cpu(cpc, (processorid_t)cpu, cpus->set[cpu],
			    flags | CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == 0;
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

void percpu_unbind(struct percpu *cpus, cpc_t *cpc)
{
	for (unsigned i = 0; cpus->set != NULL && i < cpus->n; i++) {
		if (cpus->set[i] != NULL)
			cpc_set_destroy(cpc, cpus->set[i]);
	}
	free(cpus->set);
	free(cpus->possible);
}
