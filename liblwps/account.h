/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * account.h - divide the counts of all CPUs among the cgroups, users or commands that run there,
 * by BPF programs.
 *
 * Each key (a cgroup, user or command) has a slot, with counts for each CPU.  Idle CPUs, kernel
 * threads, and keys that find no free slot have special slots, so that the sum of all slots is what
 * the CPUs have counted.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "lwps.h"

#include <linux/types.h>

#include "account_shared.h"

struct account;

struct account_config {
	enum account_by by;
	enum lwps_hierarchy hierarchy; /* of ACCOUNT_BY_CGROUP */
	bool groups;		       /* account_group() will be called, for LWPS_OTHER */
	unsigned ncolumns;
	struct lwps_column column[LWPS_MAX_COLUMNS];
	unsigned ncpus;		/* the highest number of a possible CPU, plus 1 */
	const bool *is_counted; /* by number, as long as it is open: leave the others out */
	unsigned nslots;	/* one released slot per CPU stays unused */
};

struct account_losses {
	uint64_t missed;  /* switches not reported; their slots have LWPS_NO_SWITCH */
	uint64_t late;	  /* changes of keys that were noticed late: see account_read() */
	uint64_t skipped; /* switches that the kernel skipped: counts may be wrong */
};

/* Why no column can be of kind LWPS_DELAY; NULL: columns can. */
const char *account_no_delay(void);

/*
 * Load and attach the programs, and begin to count.  NULL: see `why`, a phrase without a full stop.
 * The perf events may be closed afterwards.
 */
struct account *account_open(const struct account_config *config, char *why, size_t size);

/*
 * Bring the counts of running tasks up to date.  -1: errno.  Sets online[cpu] for each counted CPU,
 * unless `online` is NULL.
 */
int account_flush(struct account *account, bool *online);

/* Likewise for one CPU. */
int account_flush_cpu(const struct account *account, unsigned cpu);

/*
 * When the slices began, in nanoseconds on CLOCK_MONOTONIC: those of no CPU began before, and as a
 * rule all within a millisecond.
 */
int64_t account_started(const struct account *account);

/*
 * Could an event of the CPU not be read at the last switch or flush: is it missing, was it
 * displaced, or was the CPU offline?
 */
bool account_lost(const struct account *account, unsigned cpu);

/*
 * Replace the perf events of a CPU; `fd` by column, -1: the column has none.  -1: errno; ENXIO: the
 * CPU is offline, EAGAIN: the new events are lost, too.
 */
int account_renew(struct account *account, unsigned cpu, const int *fd);

/*
 * Slots of one group are not others to each other, for LWPS_OTHER.  `group` is not 0.  As long as a
 * slot has no group, account_pair() has its part of this column.
 */
void account_group(struct account *account, unsigned slot, unsigned group);

/* Return the next pair, which stays valid until the next call.  NULL: all were returned. */
const struct account_pair *account_pair(struct account *account);

/* All slots in use are below this number. */
unsigned account_nslots(const struct account *account);

/*
 * Read the counts of a slot since account_open() or its release, summed over the CPUs.  Returns the
 * flaws since the last call: bits of enum lwps_flaw.  `*late`: how often since then a running task
 * got or lost this key, and the kernel did not tell its CPU.  Each time, the counts up to the next
 * switch there are in the slot of the key that the task had before.
 */
unsigned account_read(const struct account *account, unsigned slot, uint64_t *values,
		      uint64_t *late);

/* Likewise on one CPU, whatever is_counted says. */
unsigned account_read_cpu(const struct account *account, unsigned slot, unsigned cpu,
			  uint64_t *values);

/* The owner of a slot from ACCOUNT_FIRST on. */
const struct account_owner *account_owner(const struct account *account, unsigned slot);

/*
 * Separate a slot from its key; if the key occurs again, it gets another slot.  After the next
 * account_flush() the slot no longer changes, and can be read and released.
 */
void account_forget(struct account *account, unsigned slot);
void account_release(struct account *account, unsigned slot);

/* How often a key found no free slot.  It tries again at each slice. */
uint64_t account_crowded(const struct account *account);

/* How often cgroups of version 1 were renamed.  Their slots have the old paths until forgotten. */
uint64_t account_renames(const struct account *account);

struct account_losses account_losses(const struct account *account);

void account_close(struct account *account);

#endif /* ACCOUNT_H */
