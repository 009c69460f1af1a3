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
#include <unistd.h>

#include <linux/types.h>

#include "shared.h"

/* Why the kernel says EPERM to this process. */
static inline const char *lwps_denied(void)
{
	return geteuid() != 0
		       ? "it requires root, or CAP_BPF and CAP_PERFMON"
		       : "root lacks CAP_BPF or CAP_PERFMON (those of a user namespace do not "
			 "count), or a container's seccomp profile or a security module "
			 "forbids bpf(2) or perf_event_open(2)";
}

/* Why no column can be of kind LWPS_DELAY; NULL: columns can. */
static inline const char *lwps_no_delay(void)
{
	return access("/proc/self/schedstat", F_OK) == 0
		       ? NULL
		       : "this kernel does not measure how long tasks wait (CONFIG_SCHED_INFO)";
}

struct lwps;

struct lwps_column {
	enum lwps_kind kind;
	/*
	 * LWPS_CPU, LWPS_SOFTWARE: perf events by CPU number, -1: no such CPU.  They are pinned, so
	 * that an event which another program displaces reads as an error.  LWPS_FUNCTION: the perf
	 * events of uprobes, one per place of the function, each on any one CPU; with `session` the
	 * files of the places.
	 */
	const int *fd;
	unsigned nplaces;	/* of the function */
	const uint64_t *offset; /* with `session`: of each place in its file */
	bool returns;  /* LWPS_FUNCTION: of the returns of the function, instead of its calls */
	bool session;  /* they are probed in tracked LWPs only; see lwps_has_sessions() */
	unsigned turn; /* it counts during this turn; the first is 0 */
};

/* Can the kernel probe the returns of a function in tracked LWPs only?  Since Linux 6.13. */
bool lwps_has_sessions(void);

struct lwps_config {
	unsigned ncolumns;
	struct lwps_column column[LWPS_MAX_COLUMNS];
	unsigned nturns; /* see lwps_turn() */
	unsigned ncpus;	 /* the highest number of a possible CPU, plus 1 */
	unsigned nslots; /* including the shared one; one released slot per CPU stays unused */
	bool follow_fork;
	bool follow_exec; /* if not, an exec ends the tracking of its process */
	bool start_off;	  /* LWPs are not counted until they ask for it */
	bool waiting;	  /* no LWP is counted before lwps_begin() */
	bool attaches;	  /* lwps_attach() will be called */
	bool descendants; /* lwps_attach() also attaches to all descendants */
	enum lwps_select select;
	enum lwps_hierarchy hierarchy; /* of LWPS_SELECT_CGROUP and LWPS_OWNER_CGROUP */
	uint64_t selected;	       /* the id of the cgroup or user */
	uint64_t root_id; /* LWPS_SELECT_CGROUP: id of the hierarchy's root that we see... */
	unsigned depth;	  /* ...and the number of levels from there down to the cgroup */
	unsigned owners;  /* the kinds to store: bits of enum lwps_owners */
	bool names;	  /* records carry names: comm at an exit, and old_comm */
};

struct lwps_record {
	enum lwps_event event;
	int64_t time_ns;  /* of CLOCK_MONOTONIC */
	pid_t tid, tgid;  /* in our PID namespace; at a birth, of the new LWP */
	unsigned slot;	  /* a birth begins it, an exec or exit ends it; LWPS_NONE: see next */
	unsigned creator; /* birth: the slot of its creator, or LWPS_NONE */
	pid_t creator_tgid;
	unsigned next; /* exec: the new slot; LWPS_NONE: tracking ends.  slot is LWPS_NONE if
			* counting begins at this exec. */
	int status;    /* exit: the wait status, final at the last exit of a process... */
	bool all_end;  /* ...or at each, if all its LWPs ended at once, as by exit_group(2) */
	char comm[LWPS_COMM];	  /* exec: the new name; exit: the last name */
	char old_comm[LWPS_COMM]; /* exec: the name before, or empty */
	const char *args;	  /* exec: the command line, with a NUL after each word... */
	size_t args_size;	  /* ...and its bytes that were kept; 0: it could not be read */
	/*
	 * Exec and attach, if functions are counted: the root directory or mount namespace of the
	 * process is not ours, so that a path may name another file.  Then an exec has the
	 * program's file, and wakes the reader at once, to look before the process ends.
	 */
	bool elsewhere;
	dev_t exe_dev;
	ino_t exe_ino;
};

struct lwps_losses {
	uint64_t shared;    /* LWPs and programs counted in the shared slot */
	uint64_t ring_full; /* lost records: 0, since the ring has room for all */
	uint64_t errors;    /* LWPs not tracked: no memory */
	uint64_t outside;   /* LWPs not tracked: they have no id in this PID namespace */
};

/*
 * Load and attach the programs.  NULL: see errno and `why`, a phrase without a full stop.
 * The perf events may be closed afterwards.
 */
struct lwps *lwps_open(const struct lwps_config *config, char *why, size_t size);

/*
 * Once no LWP is tracked any more, and all records were read: as lwps_open() made it, to track
 * another tree.  `waiting`: as in struct lwps_config.
 */
void lwps_renew_run(struct lwps *lwps, bool waiting);

/* The next child of this process is the root of the tree.  Its counting begins at its exec. */
void lwps_track_next_child(struct lwps *lwps);

/*
 * Track all LWPs of `n` different processes, and all LWPs that they create from now on.
 * found[i]: process i had an LWP.  -1: errno.
 */
int lwps_attach(struct lwps *lwps, const pid_t *pids, size_t n, bool *found);

/* Begin to track the tasks that .select selects.  -1: errno. */
int lwps_select(struct lwps *lwps);

/* Call it often: before Linux 6.4, BPF only notices tasks to select, and this tracks them. */
void lwps_find_entered(struct lwps *lwps);

/*
 * A file descriptor for poll(2): readable when there are records.  poll() returns once per batch of
 * records, and when the last LWP has exited.  Do not sleep longer than lwps_timeout(), in ms: the
 * kernel may not wake us for the last records of a batch.  0: no limit.
 */
int lwps_fd(const struct lwps *lwps);
unsigned lwps_timeout(const struct lwps *lwps);

/* Read the next record.  Its args are valid until the next call.  False: there is no record. */
bool lwps_next(struct lwps *lwps, struct lwps_record *record);

/*
 * Have the counts of a slot changed since the last call with this `state`?  Begin with a `state` of
 * 0.  It costs a fraction of lwps_read().
 */
bool lwps_changed(struct lwps *lwps, unsigned slot, uint64_t *state);

/*
 * Read the counts of a slot.  They are of the same moment, except in the shared slot.  Returns
 * their flaws, and LWPS_PROC_INCOMPLETE for those of the process: bits of enum lwps_flaw.
 */
unsigned lwps_read(struct lwps *lwps, unsigned slot, uint64_t *values);

/* Are the counts of the slot itself complete? */
static inline bool lwps_whole(unsigned flaws)
{
	return (flaws & ~(unsigned)LWPS_PROC_INCOMPLETE) == 0;
}

/*
 * The owner of an LWP, the id of a cgroup or user.  The kernel stores it at exits, at execs, and
 * for lwps_note_owners().  False: it is unknown.
 */
bool lwps_owner(struct lwps *lwps, unsigned slot, enum lwps_owners kind, uint64_t *owner);

/* Store the present owners of all tracked LWPs.  -1: errno. */
int lwps_note_owners(struct lwps *lwps);

/*
 * The path of a cgroup that is an owner.  False: it is unknown.  The kernel keeps the LWPS_PATHS
 * most recent ones.
 */
bool lwps_path(struct lwps *lwps, uint64_t cgroup, struct lwps_path *path);

/* Release the slot of an LWP that has ended, after its counts were read. */
void lwps_release(struct lwps *lwps, unsigned slot);

/* Begin to count, after .waiting.  -1: errno. */
int lwps_begin(struct lwps *lwps);

/* Bring the counts of LWPs that run at this moment up to date.  -1: errno. */
int lwps_flush(struct lwps *lwps);

/*
 * From now on only the columns of `turn` count; LWPS_NO_TURN: no column counts.  The first turn, 0,
 * begins by itself.  Brings the counts of running LWPs up to date.  -1: errno.
 */
int lwps_turn(struct lwps *lwps, unsigned turn);

/*
 * Is there an event of the CPU and of the current turn that could not be read: was the CPU offline,
 * or the event displaced?
 */
bool lwps_lost(struct lwps *lwps, unsigned cpu);

/* Replace the perf events of a CPU; `fd` by column, -1: keep the old event.  -1: errno. */
int lwps_renew(struct lwps *lwps, unsigned cpu, const int *fd);

/* Detach on_sched_exit() once this kernel turns out not to need it; call it often. */
void lwps_drop_sched_exit(struct lwps *lwps);

/* The number of tracked LWPs that are alive, or whose last record was not read. */
unsigned lwps_live(const struct lwps *lwps);

/* The number of processes that tracked LWPs created, and that .follow_fork left untracked. */
uint64_t lwps_children(const struct lwps *lwps);

struct lwps_losses lwps_losses(const struct lwps *lwps);

/* How often the kernel skipped a program that no other repairs: counts may be wrong. */
uint64_t lwps_skipped(const struct lwps *lwps);

void lwps_close(struct lwps *lwps);

#endif /* LWPS_H */
