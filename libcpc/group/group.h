/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* group.h - the requests of a set as a plan of groups, and these groups in the kernel. */
#ifndef CPCI_GROUP_H
#define CPCI_GROUP_H

#include "../event/event.h"

#include <stdatomic.h>

/* ---- plan.c ------------------------------------------------------------------- */

struct cpci_req {
	char *name;
	uint64_t preset;
	uint_t flags;
	uint_t nattrs;
	cpc_attr_t *attrs;
	int placed; /* the slot that it asks for, or -1 */
	uint_t slot;
	bool own;    /* it also counts the return from the handler of its overflows */
	bool beside; /* it counts the calls of another request's functions: cpc_set_add_calls() */
	struct cpci_event event;
};

/* One term of one request.  The kernel reports the terms in the order of the plan. */
struct cpci_term_ref {
	uint_t req, term;
};

/* The terms first..first + n - 1 of the plan are opened and read together. */
struct cpci_group {
	uint_t first, n; /* a group may stay closed: for other cores, or with an unknown symbol */
	bool hardware;
	bool core; /* of a core PMU: other programs may take its counters */
};

/* What a set counts.  A set, its duplicates and their buffers share it. */
struct cpci_plan {
	atomic_uint refs;
	uint_t nreqs;
	struct cpci_req *req;
	uint_t nterms;
	struct cpci_term_ref *ref; /* the terms of all requests, group by group */
	uint_t ngroups;
	struct cpci_group *group;
	uint_t noverflows; /* how many requests have CPC_OVF_NOTIFY_EMT */
	uint_t nbuffered;  /* how many of these have CPC_OVF_BUFFERED */
	/* it has counters of a core PMU, which only one program can have at a time */
	bool core;
	atomic_bool fits; /* its hardware groups are known to fit the PMU */
	int *spare;	  /* see cpci_group_keep() */
};

/* -1: out of memory, and there is nothing to free. */
int cpci_req_copy(struct cpci_req *dst, const struct cpci_req *src);
void cpci_req_free(struct cpci_req *req);

struct cpci_plan *cpci_plan_new(void); /* NULL: out of memory */
struct cpci_plan *cpci_plan_hold(struct cpci_plan *plan);
void cpci_plan_drop(struct cpci_plan *plan); /* NULL: nothing */
/* A separate plan with the same requests; NULL: out of memory. */
struct cpci_plan *cpci_plan_copy(const struct cpci_plan *plan);
int cpci_plan_add(struct cpci_plan *plan, const struct cpci_req *req); /* -1: out of memory */
const struct cpci_term *cpci_plan_term(const struct cpci_plan *plan, struct cpci_term_ref ref);
/* Does the request of term `i` report overflows, and are they buffered? */
bool cpci_plan_overflows(const struct cpci_plan *plan, uint_t i);
bool cpci_plan_buffers(const struct cpci_plan *plan, uint_t i);
/* Does its overflow freeze the set?  That is: it reports overflows, unbuffered. */
bool cpci_plan_freezes(const struct cpci_plan *plan, uint_t i);
/*
 * The shortest period of a request; 1 if it does not report overflows.  With a shorter period
 * the program would make no progress: returning from the signal handler would cause the next
 * overflow (`own`), or the timer of a clock would only ever interrupt itself.
 */
uint64_t cpci_plan_least_period(const struct cpci_plan *plan, uint_t req);
/* Term `i` in the order of the groups. */
const struct cpci_term *cpci_plan_nth(const struct cpci_plan *plan, uint_t i);

/* Why the plan's topdown metrics cannot be counted, and which; NULL: no error. */
const char *cpci_plan_check_topdown(const struct cpci_plan *plan, struct cpci_term_ref *bad);

/* ---- term.c --------------------------------------------------------------------- */

/* The address of a term's symbol plus its offset. */
struct cpci_symbol_addr {
	uint64_t addr;	  /* 0: not found yet: it counts nothing */
	uint64_t len;	  /* the size of the symbol; 0: unknown */
	int file;	  /* uprobes: the open file of the function; -1: none */
	uint64_t offset;  /* and the offset in that file */
	uint64_t counter; /* the offset of its semaphore; 0: none */
	bool mapped;	  /* the process has mapped the file that the term names without a path */
	char clone[32];	  /* it is a clone of the function: the suffix of its name; or "" */
};

/* The address of a site that the file of the symbol does not have. */
#define CPCI_NO_SITE 1

struct cpci_symbol_addr *cpci_symbol_addrs_new(uint_t n); /* NULL: out of memory */
/* Closes the files: open events do not need them. */
void cpci_symbol_addrs_close(struct cpci_symbol_addr *at, uint_t n);
void cpci_symbol_addrs_free(struct cpci_symbol_addr *at, uint_t n); /* NULL: nothing */

/* The attr of a term.  `bp`: where its symbol is; unused by terms without a symbol. */
struct perf_event_attr cpci_term_event(const struct cpci_term *term,
				       const struct cpci_symbol_addr *bp);
/* Is it a tracepoint with a filter? */
bool cpci_term_is_filtered(const struct cpci_term *term);
/* cpci_perf_open() of a term alone, whose symbol need not be known. */
int cpci_term_open(const struct cpci_term *term, struct cpci_target target, int leader,
		   bool disabled);

/* ---- group.c: all groups of a plan, for one target.  Files are in the plan's order --- */

/* Parameters for opening terms, in addition to the plan. */
struct cpci_opening {
	const struct cpci_symbol_addr *bp; /* per term; NULL: there are no symbols */
	/* per request that reports overflows; NULL: open without overflows */
	const uint64_t *preset;
	uint64_t sample_type; /* 0: no request is buffered */
	bool precise;	      /* set by cpci_group_open(): ask for precise PCs */
	bool watch;	      /* make reads show whether the CPU went offline */
	bool filled;	      /* see CPC_BIND_CPU_FILLED */
	bool sessions;	      /* see CPC_BIND_CPU_SESSIONS */
};

/*
 * Opens all terms of a plan, disabled.  Then opens the witness of LWPs; or, if `watch` and if
 * needed, the member of the first open group that shows whether the CPU is offline.  -1, errno,
 * and the term that the kernel refused.
 */
int cpci_group_open(struct cpci_plan *plan, struct cpci_target target,
		    const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad);
/*
 * Opens the event that owns the ring, beside the first buffered term.  It counts nothing.  Its
 * target is the calling LWP, which can thereby write records.  Returns a file, or -1 and errno.
 */
int cpci_group_open_owner(const struct cpci_plan *plan, uint64_t sample_type);
/*
 * Frees the counters even if another process, such as a forked child, has the files open; to
 * be called before closing them.
 */
void cpci_group_stop(const struct cpci_plan *plan, const int *fd);
void cpci_group_close(const struct cpci_plan *plan, const int *fd);
/* The same, but closes slow events in the background; they count no more. */
void cpci_group_close_later(const struct cpci_plan *plan, const int *fd);
int cpci_group_start(const struct cpci_plan *plan, const int *fd); /* -1 and errno */
/* Enables one group, by its leader.  Safe in signal handlers, as the next one. */
int cpci_group_enable(int leader);
/* Starts the witness, if there is one, after all groups were enabled.  -1 and errno. */
int cpci_group_start_witness(const struct cpci_plan *plan, const int *fd);
/* Counters that are off keep their values, and continue from them.  -1: EAGAIN, they were lost. */
int cpci_group_switch(const struct cpci_plan *plan, const int *fd, bool on);
/*
 * Sets the address of term `i`, whose symbol is known now: moves the breakpoint, which keeps
 * its count, or opens the uprobe.  It counts if the set is not `off`.  -1 and errno.
 */
int cpci_group_settle(const struct cpci_plan *plan, uint_t i, const struct cpci_symbol_addr *at,
		      struct cpci_target target, int *fd, bool off);
/* Returns a started group whose counters another program has taken; -1: none. */
int cpci_group_lost(const struct cpci_plan *plan, const int *fd);
/*
 * Reads the group with leader `fd` and `n` terms into `raw` by one read(2): the number of
 * values, time enabled and running in ns, the values.  -1: EAGAIN, ENOSYS.
 */
enum { CPCI_RAW_N, CPCI_RAW_ENABLED, CPCI_RAW_RUNNING, CPCI_RAW_VALUES };
int cpci_group_read(int fd, uint_t n, uint64_t *raw);
/*
 * The least time for which core groups of an LWP were enabled, unless they lost their
 * counters.  0 if the plan has no witness.  Call it before reading the groups.  -1 and errno:
 * the witness cannot be read.
 */
int cpci_group_least_ns(const struct cpci_plan *plan, const int *fd, uint64_t *ns);
/* Resets the counts of a group to 0.  Safe in signal handlers. */
void cpci_group_reset(int leader);
/* The pages of a plan's events, if user space can read all of them; or NULL. */
void **cpci_group_map(const struct cpci_plan *plan, const int *fd);
void cpci_group_unmap(const struct cpci_plan *plan, void **page); /* NULL: nothing */

/* ---- fit.c: what the PMU holds -------------------------------------------------- */

/* Does a refused term exclude an earlier one, independently of all others? */
bool cpci_group_conflict(const struct cpci_plan *plan, struct cpci_target target,
			 struct cpci_term_ref bad, struct cpci_term_ref *other);
/* How many counters of the core PMU a set can have at once, on any kind of core: by trying. */
uint_t cpci_group_capacity(void);
/* Can the counter of that number count instructions, and so most events?  True if unknown. */
bool cpci_group_slot_is_general(uint_t slot);
/* Can the counter of that number count the event?  True also if unknown. */
bool cpci_group_slot_counts(uint_t slot, const struct perf_event_attr *attr);
/* Keeps a spare event of each kind open, which makes opening events cheaper. */
void cpci_group_keep(struct cpci_plan *plan);

/* ---- debugreg.c: the debug registers, which breakpoints take ---------------------- */

/*
 * Are there enough debug registers for all breakpoints of a plan, in an LWP that uses none?
 * `number`: how many of them `term` can use.
 */
bool cpci_debugreg_suffice(const struct cpci_plan *plan, const struct cpci_term *term,
			   uint_t *number);

#endif /* CPCI_GROUP_H */
