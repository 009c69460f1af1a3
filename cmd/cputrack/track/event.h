/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.h - events in the life of tracked processes and LWPs.
 *
 * An engine reports each event once, in order, by track_event().  Events carry their counts, so
 * that engines have no other function for counts.
 */
#ifndef EVENT_H
#define EVENT_H

#include "../../rows/row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lwp;
struct owner;

enum track_kind {
	TRACK_BIRTH,	/* an LWP is tracked from now on; its process, too, if it is the first */
	TRACK_CREATE,	/* a tracked LWP of the same process created the LWP; follows its birth */
	TRACK_FORK,	/* an LWP created the process `child`, whose birth follows */
	TRACK_TICK,	/* a sample of a living LWP */
	TRACK_FINAL,	/* the LWP's last counts; the end of the LWP or of its program follows */
	TRACK_LWP_EXIT, /* an LWP that is not the leader has exited */
	TRACK_EXEC,	/* the process runs another program; its LWPs are gone */
	TRACK_EXIT,	/* the process has exited */
	TRACK_DETACH,	/* the LWP lives on, but is no longer tracked */
	TRACK_LOST,	/* the process, or an LWP of it, cannot be tracked */
};

/* Which counts are incomplete. */
enum track_flaw {
	TRACK_LWP_FLAWED = 1, /* of the LWP: its rows show no counts; its process adds them up */
	TRACK_PROC_FLAWED = 2 /* of the process */
};

/* The counts of one set for an LWP since the LWP's birth, its exec or the attach. */
struct track_counts {
	bool known;
	uint64_t cycles;
	uint64_t val[RUN_MAX_EVENTS]; /* by request */
};

struct track_event {
	enum track_kind kind;
	int64_t time_ns;     /* CLOCK_MONOTONIC; TICK: when the counts were read, or just after */
	struct lwp *lwp;     /* the LWP, as track_event() returned it; NULL: not tracked */
	pid_t tgid, tid;     /* its ids; used if `lwp` is NULL */
	id_t id;	     /* its number in its process, if the engine numbers LWPs; else 0 */
	pid_t child;	     /* FORK */
	int status;	     /* EXIT: as waitpid(2) */
	const char *comm;    /* the LWP's name; NULL: the last one.  EXEC: of the new program. */
	const char *command; /* EXEC: the command line of the new program */
	bool left;	     /* EXEC: the new program is not tracked */
	const struct owner *owner; /* of the LWP, or of the program that ends; NULL: as before */
	const char *user;	   /* likewise, its user */
	unsigned flaws;		   /* bits of enum track_flaw */
	size_t set;		   /* BIRTH, CREATE, TICK, DETACH: the set whose turn it is */
	bool counted;		   /* BIRTH, CREATE: the LWP is counted, from 0 on */
	bool unchanged;		   /* TICK: the counts are those of the last tick, or 0 */
	/* TICK, FINAL, DETACH: by set; a tick has only counts[set].  NULL: unknown. */
	const struct track_counts *counts;
};

#endif /* EVENT_H */
