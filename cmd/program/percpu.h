/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * percpu.h - the CPUs of this machine, and a set that counts on each of them.
 */
#ifndef PERCPU_H
#define PERCPU_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>

struct percpu {
	unsigned n;	  /* all CPU numbers are below, also of CPUs that may come online */
	bool *possible;	  /* by number: the CPU exists, or may come online */
	cpc_set_t **set;  /* by number; NULL: the CPU does not exist, or is offline */
	cpc_set_t *bound; /* the first of these sets: claims hold for all of them */
};

/*
 * Binds a duplicate of `set` to each online CPU, without a claim.  `flags`: more flags of
 * cpc_bind_cpu(3CPC); `first`: and of the first one, `bound`.  False: `why`; call percpu_unbind()
 * also then.
 */
bool percpu_bind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, uint_t first,
		 char *why, size_t size);
/* Binds the set to a CPU again, after its counters were lost.  False: that is not possible yet. */
bool percpu_rebind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, unsigned cpu);
/* Switches the counters of sets bound with CPC_BIND_CPU_LWPS.  Those that were lost stay so. */
void percpu_switch(const struct percpu *cpus, cpc_t *cpc, bool on);
void percpu_unbind(struct percpu *cpus, cpc_t *cpc);

#endif /* PERCPU_H */
