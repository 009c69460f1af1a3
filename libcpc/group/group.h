/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * group.h - the requests of a set as a plan of groups, and such groups in the kernel.
 */
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
	bool own; /* the return of a handler of its overflows is such events, too */
	struct cpci_event event;
};

/* A term of a request.  The kernel reports them in the order of the plan. */
struct cpci_term_ref {
	uint_t req, term;
};

/* Terms first..first + n - 1 of the plan are opened, and read, together. */
struct cpci_group {
	uint_t first, n; /* not open: for cores of another kind, or without its symbol yet */
	bool hardware;
	bool core; /* of a core PMU: others may take its counters */
};

/* What a set counts.  Shared by a set, its duplicates and their buffers. */
struct cpci_plan {
	atomic_uint refs;
	uint_t nreqs;
	struct cpci_req *req;
	uint_t nterms;
	struct cpci_term_ref *ref; /* the terms of all requests, by group */
	uint_t ngroups;
	struct cpci_group *group;
	uint_t noverflows; /* requests with CPC_OVF_NOTIFY_EMT */
	uint_t nbuffered;  /* those of them with CPC_OVF_BUFFERED */
	bool core;	   /* it has counters of a core PMU, which one program has at a time */
	atomic_bool fits;  /* its hardware groups were found to fit the PMU */
	int *spare;	   /* see cpci_group_keep() */
};

struct cpci_plan *cpci_plan_new(void); /* NULL: out of memory */
struct cpci_plan *cpci_plan_hold(struct cpci_plan *plan);
void cpci_plan_drop(struct cpci_plan *plan);
/* A plan of its own with the same requests; NULL and errno. */
struct cpci_plan *cpci_plan_copy(const struct cpci_plan *plan);
int cpci_plan_add(struct cpci_plan *plan, const struct cpci_req *req); /* -1: out of memory */
const struct cpci_term *cpci_plan_term(const struct cpci_plan *plan, struct cpci_term_ref ref);
/* Is it of a request that tells its overflows, and are these buffered? */
bool cpci_plan_overflows(const struct cpci_plan *plan, uint_t i);
bool cpci_plan_buffers(const struct cpci_plan *plan, uint_t i);
/* Of a request that is frozen by its overflow: it tells, and is not buffered. */
bool cpci_plan_freezes(const struct cpci_plan *plan, uint_t i);
/*
 * The shortest period of a request; 1 if it tells no overflows.  With less, the program would get
 * no further: what it takes to return from the handler of an overflow would overflow again
 * (`own`), or the timer of a clock would find nothing but itself.
 */
uint64_t cpci_plan_least_period(const struct cpci_plan *plan, uint_t req);
/* Term `i` in the order of the groups. */
const struct cpci_term *cpci_plan_nth(const struct cpci_plan *plan, uint_t i);

/* Why its topdown metrics cannot be counted, and which; NULL: they can, or there are none. */
const char *cpci_plan_check_topdown(const struct cpci_plan *plan, struct cpci_term_ref *bad);

/* Of `n` requests in their order: the slot that one asks for, or -1; then that it gets. */
void cpci_choose_slots(size_t n, int *slot);

/* ---- term.c --------------------------------------------------------------------- */

/* Where the symbol of a term is, plus its offset. */
struct cpci_symbol_addr {
	uint64_t addr;	  /* 0: not found yet; it counts nothing */
	uint64_t len;	  /* the size of what is there; 0: unknown */
	int file;	  /* uprobes: the file that has it, to be opened; -1: none */
	uint64_t offset;  /* and where in that file */
	uint64_t counter; /* where its semaphore is; 0: it has none */
	bool mapped;	  /* the file that its term names without a path is there */
};

struct cpci_symbol_addr *cpci_symbol_addrs_new(uint_t n); /* NULL: out of memory */
/* Closes their files, which open events do not need. */
void cpci_symbol_addrs_close(struct cpci_symbol_addr *at, uint_t n);
void cpci_symbol_addrs_free(struct cpci_symbol_addr *at, uint_t n); /* NULL: nothing */

/* The event of a term; of a breakpoint by symbol at the address `bp`, or at none yet. */
struct perf_event_attr cpci_term_event(const struct cpci_term *term,
				       const struct cpci_symbol_addr *bp);
/* Is it a tracepoint of which not all count? */
bool cpci_term_is_filtered(const struct cpci_term *term);
/* cpci_perf_open() of a term alone, whose symbol need not be known. */
int cpci_term_open(const struct cpci_term *term, struct cpci_target target, int leader,
		   bool disabled);

/* ---- group.c: all groups of a plan, for one target.  Files are in the plan's order --- */

/* What is to be known of terms beside the plan, to open them. */
struct cpci_opening {
	const struct cpci_symbol_addr *bp; /* per term; NULL: no symbols */
	const uint64_t *preset;		   /* per request, of those that tell overflows; NULL: 0 */
	uint64_t sample_type;		   /* of those that are buffered; 0: none is */
	bool precise;			   /* cpci_group_open(): their PC, where the PMU can */
};

/*
 * Opens all terms of a plan and a witness after them, not counting yet.  -1, errno, and
 * which was refused.
 */
int cpci_group_open(struct cpci_plan *plan, struct cpci_target target,
		    const struct cpci_opening *opening, int *fd, struct cpci_term_ref *bad);
/*
 * Opens the event that counts nothing and owns the ring of the first buffered term, for the
 * calling LWP, so that this can write there.  A file, or -1 and errno.
 */
int cpci_group_open_owner(const struct cpci_plan *plan, uint64_t sample_type);
/*
 * Gives the counters back also where somebody else, a forked child, has the files; before
 * they are closed.
 */
void cpci_group_stop(const struct cpci_plan *plan, const int *fd);
void cpci_group_close(const struct cpci_plan *plan, const int *fd);
/* The same, without a wait for those that take the kernel long; they count no more. */
void cpci_group_close_later(const struct cpci_plan *plan, const int *fd);
int cpci_group_start(const struct cpci_plan *plan, const int *fd); /* -1 and errno */
/* One of them, by its leader.  Safe in signal handlers. */
int cpci_group_enable(int leader);
/* Off, counters keep their values, and go on from there.  -1: EAGAIN, they were lost. */
int cpci_group_switch(const struct cpci_plan *plan, const int *fd, bool on);
/*
 * Term `i`, whose symbol is found now: moves the breakpoint there, which goes on from its
 * count, or opens the uprobe; and that counts, if the set is not `off`.  -1 and errno.
 */
int cpci_group_settle(const struct cpci_plan *plan, uint_t i, const struct cpci_symbol_addr *at,
		      struct cpci_target target, int *fd, bool off);
/* A group that was started, but has no counters, since others hold them; -1: none. */
int cpci_group_lost(const struct cpci_plan *plan, const int *fd);
/*
 * One read(2) of the group with leader `fd` and `n` terms into `raw`: the
 * number of values, time enabled and running in ns, the values.  -1: EAGAIN, ENOSYS.
 */
enum { CPCI_RAW_N, CPCI_RAW_ENABLED, CPCI_RAW_RUNNING, CPCI_RAW_VALUES };
int cpci_group_read(int fd, uint_t n, uint64_t *raw);
/*
 * How long core groups of an LWP have been enabled at least, unless they lost their
 * counters.  0 if the plan has no witness.  Call it before reading the groups.  -1 and errno:
 * the witness cannot be read.
 */
int cpci_group_least_ns(const struct cpci_plan *plan, const int *fd, uint64_t *ns);
/* Sets the counts of a group to 0.  Safe in signal handlers. */
void cpci_group_reset(int leader);
/* The pages of a plan's events, if all of them can be read without a system call; or NULL. */
void **cpci_group_map(const struct cpci_plan *plan, const int *fd);
void cpci_group_unmap(const struct cpci_plan *plan, void **page); /* NULL: nothing */

/* ---- fit.c: what the PMU holds -------------------------------------------------- */

/* Does a term that was refused exclude one before it, whatever else is counted? */
bool cpci_group_conflict(const struct cpci_plan *plan, struct cpci_target target,
			 struct cpci_term_ref bad, struct cpci_term_ref *other);
/* How many counters of the core PMU a set can have at once, found out by taking them. */
uint_t cpci_group_capacity(void);
/* Can a counter of that number count it?  True also where that cannot be found out. */
bool cpci_group_slot_counts(uint_t slot, const struct perf_event_attr *attr);
/* Keeps one throw-away event of each kind open, which makes opening more cheap. */
void cpci_group_keep(struct cpci_plan *plan);

/* ---- debugreg.c: the debug registers, which breakpoints take ---------------------- */

/*
 * Would an LWP that has none taken have them for all breakpoints of a plan?  And how many
 * that are good for `term`.
 */
bool cpci_debugreg_suffice(const struct cpci_plan *plan, const struct cpci_term *term,
			   uint_t *number);

#endif /* CPCI_GROUP_H */
