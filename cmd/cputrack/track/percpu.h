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
	unsigned n;	  /* numbers of CPUs are below, also of those that may come */
	bool *possible;	  /* by number: there is, or may come, such a CPU */
	cpc_set_t **set;  /* by number; NULL: there is no such CPU, or it is offline */
	cpc_set_t *bound; /* one of them: claims are the same for all */
};

/*
 * Binds a duplicate of `set` to each CPU that is online, to count for LWPs.  False: `why`; what
 * has been bound by then is to be unbound, too.
 */
bool percpu_bind(struct percpu *cpus, cpc_t *cpc, cpc_set_t *set, char *why, size_t size);
void percpu_unbind(struct percpu *cpus, cpc_t *cpc);

#endif /* PERCPU_H */
