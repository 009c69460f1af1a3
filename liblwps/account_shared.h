/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * account_shared.h - the memory that the programs of divide.bpf.c and user space share.
 *
 * __u32 and __u64 must be defined before, as for shared.h.
 */
#ifndef ACCOUNT_SHARED_H
#define ACCOUNT_SHARED_H

#include "shared.h"

/* The kind of keys among which the counts of the CPUs are divided. */
enum account_by {
	ACCOUNT_BY_CGROUP,
	ACCOUNT_BY_USER,
	ACCOUNT_BY_COMMAND,
	ACCOUNT_BY_NOTHING, /* all tasks are in ACCOUNT_KERNEL, but for the idle ones */
};

/* Slots with a fixed use.  Each slot from ACCOUNT_FIRST on belongs to one key. */
enum account_slot {
	ACCOUNT_OTHERS = LWPS_SHARED, /* keys that found no free slot */
	ACCOUNT_BEFORE,		      /* counts before account_open() returned: ignored */
	ACCOUNT_IDLE,
	ACCOUNT_KERNEL, /* kernel threads */
	ACCOUNT_FIRST,
};

/*
 * In the flaws of a slot, multiples of this count changes of keys that were noticed late: some
 * counts of one slice, or of a part of it, are in the slot of another key.  Below it are the bits
 * of enum lwps_flaw.
 */
#define ACCOUNT_LATE 256u

#define ACCOUNT_QUOTAS 16384 /* cgroups with a quota whose throttled time is known */

/* Returned by on_flush(): it has interrupted another program, and did nothing. */
#define ACCOUNT_BUSY 1

/* The id of a cgroup or user, or the name of a command. */
struct account_key {
	__u64 word[2];
};

/* The owner of a slot. */
struct account_owner {
	struct account_key key;
	struct lwps_path path; /* of a cgroup */
	__u32 group;	       /* of slots that belong together: account_group(); 0: unknown */
};

/* A task of one slot was preempted by one of another, and the group of a slot was unknown. */
struct account_pair {
	__u32 from, to;
};

#define ACCOUNT_PAIR_BYTES (1u << 20) /* for these */

/*
 * The counts of a slot on one CPU, which alone changes them.  In memory they are an array of struct
 * lwps_line.
 */
struct account_counts {
	struct lwps_head head;
	__u64 total[];
};

#define ACCOUNT_HEADER_WORDS 1u
_Static_assert(sizeof(struct account_counts) == ACCOUNT_HEADER_WORDS * sizeof(__u64), "");

/* A property of a task from which its key follows, and which is cheaper to get and compare. */
struct account_mark {
	__u64 word[2];
	__u64 slot; /* ACCOUNT_IDLE, ACCOUNT_KERNEL, or 0 for tasks with a key */
};

/* A CPU.  Only that CPU changes it, except `moved`. */
struct account_cpu {
	struct account_mark mark; /* of the running task, when its slice began */
	__u64 moved;  /* the task that ran here when another CPU changed its key: settle_moved() */
	__u64 nivcsw; /* preemptions of the running task before this slice */
	__u32 changing;		 /* 1: the key of the task may have changed when this slice began */
	__u32 spare;		 /* a free slot, or 0 */
	struct lwps_slice slice; /* charged to the slot of the task's key */
	__u64 cgroup; /* for slot_of(): the kernfs node of the task's cgroup, an address... */
	struct account_key key; /* ...and the key */
} __attribute__((aligned(64)));

#endif /* ACCOUNT_SHARED_H */
