/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.h - claims of CPUs, valid for the whole machine: a CPU has one set with events of the core
 * PMU at a time, and meanwhile no LWP has one.
 */
#ifndef CPCI_CLAIM_H
#define CPCI_CLAIM_H

#include "../diag/diag.h"
#include "../sys/sys.h"

/* ---- claim.c: the caller holds the lock, except in functions for signal handlers ---- */

#define CPCI_CLAIM_LOOK_NS 100000000 /* for how long a look for claims is valid */

/*
 * Claims a CPU, which ends the epochs of LWPs.  NULL: another process has claimed that CPU,
 * or it cannot be claimed: see `diag`.  A CPC_WARNING in `diag` says that other processes cannot
 * see the claim, or that it invalidates their sets.
 */
struct cpci_claim *cpci_claim(int cpu, struct cpci_diag *diag);
/* Is it a claim of this process on that CPU?  NULL: no. */
bool cpci_claim_is_for(const struct cpci_claim *claim, int cpu);
void cpci_claim_drop(struct cpci_claim *claim); /* NULL: nothing */
void cpci_claims_forget(void);			/* in a forked child: they belong to the parent */

/* The claims known when a set was bound to an LWP.  The epoch ends with the next claim. */
struct cpci_epoch {
	bool exempt;	 /* it never ends: a set without counters of the core PMU */
	bool taken;	 /* by cpci_epoch_take()... */
	unsigned nforks; /* ...in a process after this number of forks */
	uint64_t root, local;
};
/* For sets without counters of the core PMU. */
#define CPCI_EPOCH_EXEMPT ((struct cpci_epoch){.exempt = true})
/* An epoch that has ended. */
#define CPCI_EPOCH_OVER ((struct cpci_epoch){.root = UINT64_MAX, .local = UINT64_MAX})
/* Call this before the set of an LWP starts counting.  -1: a CPU is claimed, see `diag`. */
int cpci_epoch_take(struct cpci_epoch *epoch, struct cpci_diag *diag);
/* Call this when that set is unbound; no effect on epochs that were not taken. */
void cpci_epoch_drop(struct cpci_epoch *epoch);
/* Has no CPU been claimed up to `ns`, the current time?  Safe in signal handlers. */
bool cpci_epoch_check(const struct cpci_epoch *epoch, int64_t ns);
/* The same, without looking for new claims. */
bool cpci_epoch_peek(const struct cpci_epoch *epoch);

/* ---- claim_dir.c: where claims are, one file for each ------------------------------ */

enum cpci_claim_dir { CPCI_DIR_ROOT, CPCI_DIR_USERS, CPCI_DIR_NONE };
extern const char *const cpci_claim_path[];

struct cpci_holder {
	int cpu;
	pid_t pid;		 /* 0: it is in another PID namespace */
	enum cpci_claim_dir dir; /* where it was found, or where the search failed */
};

/* Does an errno mean that a file does not exist for us?  False: it may exist. */
bool cpci_claim_is_absence(int err);
/* Opens the directory, if no user can remove another user's files there; -1 and errno. */
int cpci_claim_dir_open(enum cpci_claim_dir which);
/* Makes the name of a new claim of this process. */
void cpci_claim_name(int cpu, char *name, size_t size);
/* Takes the mutex of our user's claims; closing it releases it.  -1: it cannot be taken. */
int cpci_claim_mutex(int dir);
/*
 * Looks for a claim of another process on `cpu`, or on any CPU (-1).  In the directory `tidy`
 * it also removes files of dead processes; the caller holds the mutex of that directory.  1:
 * see `holder`; 0: no process holds one; -1 and errno: unknown.  Safe in signal handlers.
 */
int cpci_claim_find(int cpu, enum cpci_claim_dir tidy, struct cpci_holder *holder);

#endif /* CPCI_CLAIM_H */
