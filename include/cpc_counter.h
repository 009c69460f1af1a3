/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_counter.h - the kernel's counters behind a set, for programs that read them where no
 * sample can be taken: in the kernel, by BPF.
 *
 * Extension.  Such a program binds a duplicate of a set to each CPU, reads the counters when
 * the CPU goes from one LWP to another (bpf_perf_event_read_value(), bpf-helpers(7)), and
 * makes of the differences a buffer as cpc_set_sample(3CPC) would have.
 */
#ifndef CPC_COUNTER_H
#define CPC_COUNTER_H

#include <libcpc.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * A flag of cpc_bind_cpu, beside CPC_BIND_CPU_SHARED: it counts for LWPs that run there, and
 * is subject to what such sets are: refused while a CPU has a set of its own, EAGAIN, and
 * invalidated by one, see cpc_set_holds().
 */
#define CPC_BIND_CPU_LWPS 0x100

struct perf_event_attr;

/* A counter of a set. */
struct cpc_counter {
	int index;			    /* of the request that it is part of */
	int core;			    /* it is one of the core PMU's */
	int fd;				    /* perf_event_open(2); -1: the set is not bound */
	const struct perf_event_attr *attr; /* as there; lives as long as the set */
};

/*
 * Writes the first `n` counters of a set, in an order that all duplicates of it share, to
 * `counter`, and returns how many it has; -1 and errno: EINVAL.  A request may have several,
 * and one that names a function or a symbol is made of what is not known before it is bound.
 */
int cpc_set_counters(cpc_t *cpc, const cpc_set_t *set, struct cpc_counter *counter, uint_t n);

/*
 * Gives a buffer what all `n` counters of a set have counted in `ns` nanoseconds: the preset
 * and their count for each request, and the cycles.  They were read at `at`, by CLOCK_MONOTONIC in
 * nanoseconds.  Returns 0, or -1 and errno: EINVAL (not as many as the set has, or the buffer is of
 * another set).
 */
int cpc_buf_fill(cpc_t *cpc, cpc_buf_t *buf, const cpc_set_t *set, const uint64_t *count, uint_t n,
		 uint64_t ns, hrtime_t at);

/*
 * Has nobody bound a set to a CPU alone since this one was bound with CPC_BIND_CPU_LWPS, up
 * to `now`, the time by CLOCK_MONOTONIC?  1 or 0; -1 and errno: EINVAL.
 */
int cpc_set_holds(cpc_t *cpc, const cpc_set_t *set, hrtime_t now);

/*
 * What cpc_enable() and cpc_disable() ask for by pctx_request(3CPC), in an LWP that has not
 * bound a set itself.
 */
#define CPC_REQUEST_DISABLE 0x63706300
#define CPC_REQUEST_ENABLE 0x63706301

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* CPC_COUNTER_H */
