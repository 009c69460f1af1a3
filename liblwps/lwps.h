/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps.h - count for each LWP of a tree of processes, by BPF programs and without stopping them.
 *
 * An LWP has a slot of counts for each program that it runs: from its birth or an exec to the
 * next exec or its exit.  Records report births, execs and exits.  A slot keeps its counts until
 * it is released, so a slow reader loses nothing as long as there are slots.  LWPs that find no
 * free slot share one, LWPS_SHARED, which has their sums but no records.
 */
#ifndef LWPS_H
#define LWPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/types.h>

#include "shared.h"

#define LWPS_PRIVILEGES "it requires root, or CAP_BPF and CAP_PERFMON"

struct lwps;

struct lwps_column {
	enum lwps_kind kind;
	/*
	 * LWPS_CPU: perf events by CPU number, -1: no such CPU.  They are pinned, so that an event
	 * which another program displaces reads as an error.  LWPS_FUNCTION: the perf event of a
	 * uprobe, on any one CPU.
	 */
	const int *fd;
	unsigned turn; /* in which it counts, from 0 */
};

struct lwps_config {
	unsigned ncolumns;
	struct lwps_column column[LWPS_MAX_COLUMNS];
	unsigned nturns; /* of columns; see lwps_turn() */
	unsigned ncpus;	 /* possible CPUs: numbers below */
	unsigned nslots; /* with the shared one; of the released ones, one per CPU stays unused */
	bool follow_fork;
	bool follow_exec; /* if not, an exec ends the tracking of its process */
	bool start_off;	  /* LWPs are not counted until they ask for it */
	bool waiting;	  /* no LWP is counted before lwps_begin() */
	bool attaches;	  /* lwps_attach() will be called... */
	bool descendants; /* ...and is to attach to all descendants, too */
	enum lwps_select select;
	enum lwps_hierarchy hierarchy;
	uint64_t selected; /* the id of the cgroup or user; of a cgroup, also: */
	uint64_t root_id;  /* of the hierarchy's root, as this process sees it */
	unsigned depth;	   /* levels that the cgroup is below it */
	unsigned owners;   /* to be known: enum lwps_owners; .hierarchy if of cgroups */
	bool names;	   /* records carry names: comm at an exit, and old_comm */
};

struct lwps_record {
	enum lwps_event event;
	int64_t time_ns;  /* of CLOCK_MONOTONIC */
	pid_t tid, tgid;  /* as this process sees them; of the new one at a birth */
	unsigned slot;	  /* begun by a birth, ended by an exec or exit; LWPS_NONE: see next */
	unsigned creator; /* birth: the slot of its creator, or LWPS_NONE */
	pid_t creator_tgid;
	unsigned next; /* exec: the slot begun; LWPS_NONE: tracking ends.  slot is LWPS_NONE
			* at the first exec of the root. */
	int status;    /* exit: as waitpid(2) has it, if this is the last LWP of its process... */
	bool all_end;  /* ...or, whichever is the last, as all of them were ended at once */
	char comm[LWPS_COMM];	  /* exec: the name now; exit: the last */
	char old_comm[LWPS_COMM]; /* exec: the name before, or empty */
	const char *args;	  /* exec: the command line, with a NUL after each word... */
	size_t args_size;	  /* ...its first bytes; 0: it could not be read */
};

struct lwps_losses {
	uint64_t shared;     /* LWPs and programs counted in the shared slot */
	uint64_t ring_full;  /* records lost: never, by construction */
	uint64_t errors;     /* LWPs not tracked: no memory */
	uint64_t outside;    /* LWPs not tracked: they have no id in this PID namespace */
	uint64_t missed;     /* switches without counts; slots have LWPS_NO_SWITCH or _NO_CPU */
	uint64_t repaired;   /* missed switches that were noticed in time: no count is wrong */
	uint64_t late_execs; /* noticed late; slots have LWPS_LATE_EXEC */
	uint64_t late_exits; /* noticed at the LWP's last switch: no count is wrong */
	/* Runs of programs that the kernel skipped and nothing makes up for: counts may be wrong.
	 */
	uint64_t skipped;
};

/*
 * Load and attach the programs.  NULL: see errno and `why`, a phrase without a full stop.
 * The perf events may be closed afterwards.
 */
struct lwps *lwps_open(const struct lwps_config *config, char *why, size_t size);

/* The next process that this one creates is the root of the tree; it counts from its exec on. */
void lwps_track_next_child(struct lwps *lwps);

/*
 * Track all LWPs of `n` different processes, and those that they create meanwhile and later.
 * `found`: by process, whether it had any LWP.  -1: errno.
 */
int lwps_attach(struct lwps *lwps, const pid_t *pids, size_t n, bool *found);

/* Track what .select says, from now on.  -1: errno. */
int lwps_select(struct lwps *lwps);

/* Before Linux 6.4: track what has been selected since the last call; call it often. */
void lwps_find_entered(struct lwps *lwps);

/*
 * A file descriptor for poll(2): readable when there are records.  poll() returns once per batch of
 * records, and when the last LWP has exited.  lwps_timeout() is the longest time to sleep, in ms,
 * so that no record waits longer; -1: no limit.
 */
int lwps_fd(const struct lwps *lwps);
int lwps_timeout(const struct lwps *lwps);

/* Read the next record.  Its args are valid until the next call.  False: there is no record. */
bool lwps_next(struct lwps *lwps, struct lwps_record *record);

/*
 * Have the counts of a slot changed since the last call with this `state`?  A `state` of 0 stands
 * for no counts.  It costs a fraction of lwps_read().
 */
bool lwps_changed(struct lwps *lwps, unsigned slot, uint64_t *state);

/*
 * Read the counts of a slot, all of the same moment if it is not the shared one.  Returns the flaws
 * of these counts or of the process's: bits of enum lwps_flaw.
 */
unsigned lwps_read(struct lwps *lwps, unsigned slot, uint64_t *values);

/* Is nothing missing from the counts of the slot itself? */
static inline bool lwps_whole(unsigned flaws)
{
	return (flaws & ~(unsigned)LWPS_PROC_INCOMPLETE) == 0;
}

/*
 * The owner of an LWP, the id of a cgroup or user, when it exited, executed another program, or at
 * the last lwps_note_owners().  False: it is unknown.
 */
bool lwps_owner(struct lwps *lwps, unsigned slot, enum lwps_owners kind, uint64_t *owner);

/* Find out the owners of all tracked LWPs.  -1: errno. */
int lwps_note_owners(struct lwps *lwps);

/*
 * The path of a cgroup that is an owner.  False: it is unknown.  The kernel keeps the last
 * LWPS_PATHS of them.
 */
bool lwps_path(struct lwps *lwps, uint64_t cgroup, struct lwps_path *path);

/* Release the slot of an LWP that has ended, after its counts were read. */
void lwps_release(struct lwps *lwps, unsigned slot);

/* Begin to count, after .waiting.  -1: errno. */
int lwps_begin(struct lwps *lwps);

/* Bring the counts of LWPs that run at this moment up to date.  -1: errno. */
int lwps_flush(struct lwps *lwps);

/*
 * The columns of `turn` count from now on, and no others; at first, those of turn 0.  LWPS_NO_TURN:
 * none does.  Brings the counts of running LWPs up to date.  -1: errno.
 */
int lwps_turn(struct lwps *lwps, unsigned turn);

/* Could an event of a CPU not be read, since the CPU was offline or another program took it? */
bool lwps_lost(struct lwps *lwps, unsigned cpu);

/* The CPU has other perf events from now on; `fd` by column, -1: none.  -1: errno. */
int lwps_renew(struct lwps *lwps, unsigned cpu, const int *fd);

/* Detach a program as soon as it is known that this kernel does not need it; call it often. */
void lwps_drop_sched_exit(struct lwps *lwps);

/* The number of tracked LWPs that are alive, or whose last record was not read. */
unsigned lwps_live(const struct lwps *lwps);

/* Processes that tracked ones created, without .follow_fork. */
uint64_t lwps_children(const struct lwps *lwps);

struct lwps_losses lwps_losses(const struct lwps *lwps);

void lwps_close(struct lwps *lwps);

#endif /* LWPS_H */
