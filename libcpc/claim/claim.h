/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.h - one set with events of the core PMU per CPU, and none on LWPs meanwhile, over all
 * processes.
 */
#ifndef CPCI_CLAIM_H
#define CPCI_CLAIM_H

#include "../diag/diag.h"
#include "../sys/sys.h"

/* ---- claim.c ------------------------------------------------------------------- */

#define CPCI_CLAIM_LOOK_NS 100000000 /* how long a look at the claims of others is good for */

/*
 * Once it is made, epochs of LWPs hold no more.  NULL: another has that CPU, or it cannot be
 * claimed: see `diag`.  Made, but with a CPC_WARNING in `diag`: others cannot see it, or it
 * invalidates sets of other processes.
 */
struct cpci_claim *cpci_claim(int cpu, struct cpci_diag *diag);
bool cpci_claim_is_for(const struct cpci_claim *claim, int cpu); /* ours; NULL: no */
void cpci_claim_drop(struct cpci_claim *claim);			 /* NULL: nothing */
void cpci_claims_forget(void); /* in a forked child: they are the parent's */

/* What was known of claims when a set was bound to an LWP: how many had been made. */
struct cpci_epoch {
	bool exempt;	 /* it holds whatever is claimed */
	bool taken;	 /* by cpci_epoch_take(), ... */
	unsigned nforks; /* ...in the process that so many forks led to */
	uint64_t root, others;
};
/* Of sets without counters of the core PMU. */
#define CPCI_EPOCH_EXEMPT ((struct cpci_epoch){.exempt = true})
/* One that never holds. */
#define CPCI_EPOCH_OVER ((struct cpci_epoch){.root = UINT64_MAX, .others = UINT64_MAX})
/* To be taken before an LWP's set counts.  -1: a CPU is claimed, see `diag`. */
int cpci_epoch_take(struct cpci_epoch *epoch, struct cpci_diag *diag);
/* When that set is unbound; others do nothing. */
void cpci_epoch_drop(struct cpci_epoch *epoch);
/* Was no CPU claimed up to `ns`, the time now?  Safe in signal handlers. */
bool cpci_epoch_holds(const struct cpci_epoch *epoch, int64_t ns);
/* The same, as far as it is known without looking for claims. */
bool cpci_epoch_held(const struct cpci_epoch *epoch);

/* ---- claim_dir.c: where claims are, one file for each ------------------------------ */

enum cpci_claim_dir { CPCI_DIR_ROOT, CPCI_DIR_USERS, CPCI_DIR_NONE };
extern const char *const cpci_claim_path[];

struct cpci_holder {
	int cpu;
	pid_t pid;		 /* 0: another PID namespace's */
	enum cpci_claim_dir dir; /* where it was found, or could not be looked for */
};

/* Does an errno say that there is no such thing for us, rather than that it is not known? */
bool cpci_claim_is_absence(int err);
/* The directory, if nobody can remove there what is another's; -1 and errno. */
int cpci_claim_dir_open(enum cpci_claim_dir which);
/* A name for a new claim of ours. */
void cpci_claim_name(int cpu, char *name, size_t size);
/* The mutex of our user's claims; closing it gives it back.  -1: it is not to be had. */
int cpci_claim_mutex(int dir);
/*
 * Looks for a claim of another process on `cpu`, or on any (-1).  `tidy`: where what dead
 * processes left shall be removed; takes the mutex.  1: see `holder`; 0: there is none; -1
 * and errno: it cannot be found out.  Safe in signal handlers.
 */
int cpci_claim_find(int cpu, enum cpci_claim_dir tidy, struct cpci_holder *holder);

#endif /* CPCI_CLAIM_H */
