/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counter.h - the kernel's counters behind a set, for the BPF programs of cputrack and cpustat.
 *
 * cputrack binds a duplicate of a set to each CPU, reads the counters in the kernel whenever the
 * CPU switches between LWPs (bpf_perf_event_read_value(), bpf-helpers(7)), and makes of the
 * differences a buffer as cpc_set_sample(3CPC) would.  Not installed.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include "../perf/sched.h"

#include <libcpc.h>

#pragma GCC visibility push(default)

/*
 * The caller counts these events: bits CPC_SCHED_BIT().  Their counters can be opened from now on,
 * and count nothing.
 */
void cpc_sched_events(unsigned bits);

/*
 * A flag of cpc_bind_cpu(), beside CPC_BIND_CPU_SHARED: the set counts for LWPs that run there.
 * Binding fails with EAGAIN while a set is bound to a CPU alone, and such a set invalidates this
 * one: see cpc_set_holds().  cpc_set_disable() and cpc_set_enable() switch such a set off and on.
 */
#define CPC_BIND_CPU_LWPS 0x100
/*
 * Another one, beside CPC_BIND_CPU_LWPS, without which the counters of functions are not opened.
 * One CPU is enough: a BPF program that is attached to such a counter runs for the calls on all
 * CPUs, and each counter makes each call slower.
 */
#define CPC_BIND_CPU_FUNCTIONS 0x200

/*
 * Another one, for BPF programs that read all counters of a set on all CPUs.  A counter of another
 * kind of core than the CPU's is replaced by one that counts nothing.  Without it, the programs
 * could not tell a missing counter from a lost one.
 */
#define CPC_BIND_CPU_FILLED 0x400

/*
 * Another one, beside CPC_BIND_CPU_FUNCTIONS: the counters of returns of functions are not opened,
 * because they would replace return addresses in all processes.  The files stay open, for BPF
 * programs that decide at each call.
 */
#define CPC_BIND_CPU_SESSIONS 0x800

struct perf_event_attr;

/* A counter of a set. */
struct cpc_counter {
	int index;			    /* of its request */
	int core;			    /* it is one of the core PMU's */
	int function;			    /* it counts calls of a function of a file... */
	int returns;			    /* ...or its returns */
	int minus;			    /* its count is subtracted from that of the request */
	int further;			    /* it counts the same function at a further place */
	int file;			    /* CPC_BIND_CPU_SESSIONS: the open file; else -1 */
	uint64_t offset;		    /* of the function in `file` */
	int fd;				    /* of perf_event_open(2); -1: it is not open */
	const struct perf_event_attr *attr; /* of perf_event_open(2); lives as long as the set */
};

/*
 * Writes the first `n` counters of a set to `counter`, in an order that all duplicates of the set
 * share, and returns how many the set has; -1 and errno: EINVAL.  A request may have several
 * counters.  A request for a function or a symbol has none before it is bound.
 */
int cpc_set_counters(cpc_t *cpc, const cpc_set_t *set, struct cpc_counter *counter, uint_t n);

/*
 * Sets a buffer to the counts of all `n` counters of a set: each request has its preset and the
 * counts of its counters.  The cycles are those of `ns` nanoseconds.  `at` is when the counters
 * were read, in nanoseconds of CLOCK_MONOTONIC.  Returns 0, or -1 and errno: EINVAL (the set has
 * not `n` counters, or the buffer is of another set).
 */
int cpc_buf_fill(cpc_t *cpc, cpc_buf_t *buf, const cpc_set_t *set, const uint64_t *count, uint_t n,
		 uint64_t ns, hrtime_t at);

/*
 * Returns 0 if a set was bound to a CPU alone since this one was bound with CPC_BIND_CPU_LWPS,
 * up to `now` by CLOCK_MONOTONIC; else 1; -1 and errno: EINVAL.
 */
int cpc_set_holds(cpc_t *cpc, const cpc_set_t *set, hrtime_t now);

/*
 * Finds a file in which a bound set counts functions, and that a process has mapped without the
 * probes of the kernel.  Returns its path, and a phrase about how it is mapped; NULL: no such file.
 */
const char *cpc_set_unprobed(cpc_t *cpc, const cpc_set_t *set, pid_t pid, const char **why);

/*
 * Adds a request that is like request `index`, but counts the calls of functions instead of their
 * returns; the kernel loses returns that are nested too deep.  Returns its index; -1 and errno:
 * ENOENT (request `index` counts no returns), EINVAL (the set is bound, or has no room), ENOMEM.
 */
int cpc_set_add_calls(cpc_t *cpc, cpc_set_t *set, int index);

/*
 * Is the program of a bound set stripped, or the file that `symbol` (as cpc_walk_symbols() reports
 * it) names?
 */
int cpc_set_stripped(cpc_t *cpc, const cpc_set_t *set, const char *symbol);

/*
 * Writes the name of the core PMU of a CPU, such as cpu_atom: its kind of core.  "": it has none.
 */
void cpc_cpu_pmu(int cpu, char *name, size_t size);

/* What cpc_disable() and cpc_enable() pass to pctx_request(3CPC) in an LWP without a set. */
#define CPC_REQUEST_DISABLE 0x63706300
#define CPC_REQUEST_ENABLE 0x63706301

#pragma GCC visibility pop

#endif /* COUNTER_H */
