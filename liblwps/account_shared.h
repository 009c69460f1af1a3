/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * account_shared.h - what the programs of divide.bpf.c and user space share.
 *
 * Both include their own definitions of __u32 and __u64 before.
 */
#ifndef ACCOUNT_SHARED_H
#define ACCOUNT_SHARED_H

#include "shared.h"

/* What the counts of the CPUs are divided by. */
enum account_by { ACCOUNT_BY_CGROUP, ACCOUNT_BY_USER, ACCOUNT_BY_COMMAND };

/* Slots that are always there.  Others belong to a key each. */
enum account_slot {
	ACCOUNT_OTHERS = LWPS_SHARED, /* keys that found no free slot */
	ACCOUNT_BEFORE,		      /* counts before account_open() returned: ignored */
	ACCOUNT_IDLE,
	ACCOUNT_KERNEL, /* kernel threads */
	ACCOUNT_FIRST,
};

/* Flaws of a slot, beside those of enum lwps_flaw. */
#define ACCOUNT_LATE 128 /* a task changed its key, which was noticed at a later switch */

/* What on_flush() returns if it has interrupted another program, and did nothing. */
#define ACCOUNT_BUSY 1

/* The id of a cgroup or user, or the name of a command. */
struct account_key {
	__u64 word[2];
};

/* Whose slot it is. */
struct account_owner {
	struct account_key key;
	struct lwps_path path; /* of a cgroup */
};

/*
 * The counts of a slot on one CPU, which alone changes them.  In memory they are some lines of
 * equal size.
 */
struct account_counts {
	__u32 sequence; /* odd while totals change */
	__u32 flaws;
	__u64 total[];
};

#define ACCOUNT_HEADER_WORDS 1u
_Static_assert(sizeof(struct account_counts) == ACCOUNT_HEADER_WORDS * sizeof(__u64), "");

/* What a task's key is made of.  It is cheaper to compare than the key. */
struct account_mark {
	__u64 word[2];
	__u64 slot; /* ACCOUNT_IDLE, ACCOUNT_KERNEL, or 0 for tasks with a key */
};

/* A CPU and the slice that is counted there now.  Only that CPU changes it, but for `moved`. */
struct account_cpu {
	__u64 task; /* the task that runs, since the last switch: an address; 0: before the first */
	struct account_mark mark; /* of that task, when its slice began */
	__u32 slot;		  /* of that task */
	__u32 spare;		  /* a free slot, or 0 */
	__u32 busy;		  /* 1: a program that interrupts may hit is changing this */
	__u32 changing; /* 1: the key of the task may have changed when this slice began */
	__u64 moved;	/* the task that ran here when another CPU moved it; see notice_late() */
	__u64 switches; /* in this slice */
	__u32 fence;
	__u64 cgroup; /* the kernfs node of the task whose slot is looked for: an address */
	struct account_key key; /* likewise */
	struct lwps_start start[LWPS_MAX_COLUMNS];
} __attribute__((aligned(64)));

#endif /* ACCOUNT_SHARED_H */
