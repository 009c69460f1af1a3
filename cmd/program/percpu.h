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
	unsigned n;	  /* the highest number of a possible CPU, plus 1 */
	bool *possible;	  /* by number: the CPU exists, or may come online */
	cpc_set_t **set;  /* by number; NULL: the CPU does not exist, or is offline */
	cpc_set_t *bound; /* the first of these sets that was bound */
};

/* Finds the CPUs.  False: see `why`.  Call percpu_unbind() in any case. */
bool percpu_find(struct percpu *cpus, char *why, size_t size);
/*
 * Finds the CPUs, and binds a duplicate of `set` to each online CPU, without a claim and with
 * CPC_BIND_CPU_FILLED.  `flags`: more flags of cpc_bind_cpu(3CPC); `first`: flags for the first
 * duplicate only, which becomes `bound`.  False: see `why`.  Call percpu_unbind() in any case.
 */
bool percpu_bind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, uint_t first,
		 char *why, size_t size);
/*
 * Binds the set to a CPU, for example again after it lost its counters.  False: see errno; the set
 * is unbound there, or keeps the lost counters.
 */
bool percpu_bind_cpu(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, uint_t flags, unsigned cpu);
/*
 * Says that the returns of functions of a set are probed in all processes, and which ones that may
 * kill.
 */
void percpu_warn_of_returns(cpc_t *cpc, const cpc_set_t *set, const char *spec);
/* Switches the counters of sets bound with CPC_BIND_CPU_LWPS.  Lost counters stay lost. */
void percpu_switch(const struct percpu *cpus, cpc_t *cpc, bool on);
/* Has no CPU been claimed since the sets were bound with CPC_BIND_CPU_LWPS? */
bool percpu_holds(const struct percpu *cpus, cpc_t *cpc, hrtime_t now);
void percpu_unbind(struct percpu *cpus, cpc_t *cpc);

#endif /* PERCPU_H */
