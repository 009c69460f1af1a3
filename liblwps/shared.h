/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * shared.h - what the programs in the kernel and user space share: memory and records.
 *
 * Both include their own definitions of __u32 and __u64 before.
 */
#ifndef SHARED_H
#define SHARED_H

#define LWPS_MAX_COLUMNS 65 /* a clock, and as many events as a set can have */
#define LWPS_COMM 16	    /* of a thread's name, as in the kernel */
#define LWPS_ARGS 4096	    /* of a command line that are kept */

/* Where the count of a column comes from. */
enum lwps_kind {
	LWPS_CPU,      /* a perf event of each CPU, read at context switches */
	LWPS_CLOCK,    /* ns on a CPU */
	LWPS_SWITCH,   /* switches to another task */
	LWPS_MIGRATE,  /* runs on another CPU than before */
	LWPS_FUNCTION, /* a uprobe, calls on all CPUs */
	LWPS_CGROUP,   /* switches to a task of another cgroup, in the hierarchy of perf_event */
};

/* Kinds of records. */
enum lwps_event {
	LWPS_ATTACH, /* an LWP exists already */
	LWPS_THREAD, /* an LWP was created in a process... */
	LWPS_FORK,   /* ...or with a new process */
	LWPS_EXEC,   /* a process executes another program */
	LWPS_EXIT,   /* an LWP has exited */
};

/* The hierarchy of cgroups: that of version 2, or the one of a controller of version 1. */
enum lwps_hierarchy {
	LWPS_UNIFIED,
	LWPS_MEMORY,
	LWPS_CPUACCT,
	LWPS_PIDS,
	LWPS_PERF_EVENT, /* for LWPS_CGROUP only */
};

/* The processes to track. */
enum lwps_select {
	LWPS_SELECT_TREE,   /* the child of this process or those of lwps_attach(), and what they
			     * create; else, all that the tool can see... */
	LWPS_SELECT_ALL,    /* ...of the machine... */
	LWPS_SELECT_CGROUP, /* ...in a cgroup or those below it... */
	LWPS_SELECT_USER,   /* ...or with an effective user id, at any time */
};

/* Whose LWP it is: bits, and the words behind the totals of a slot. */
enum lwps_owners {
	LWPS_OWNER_CGROUP = 1, /* the id of the cgroup, ... */
	LWPS_OWNER_USER = 2,   /* ...the effective user id and 1 */
};

#define LWPS_OWNER_WORDS 2u

#define LWPS_PATH_PART 128 /* bytes of the name of a cgroup, with the NUL */
#define LWPS_PATH 512	   /* bytes of the names of a cgroup and its ancestors */

#define LWPS_PATHS 16384    /* of cgroups, that the kernel keeps at a time... */
#define LWPS_CPU_PATHS 128u /* ...and that each CPU may have set aside, unused */

/* The path of a cgroup. */
struct lwps_path {
	__u32 nparts; /* names in `parts`, each with a NUL: of the cgroup, its parent, ... */
	__u32 cut;    /* 1: there are more, or a name is longer */
	char parts[LWPS_PATH];
};

/* Why the counts of a slot are incomplete: bits. */
enum lwps_flaw {
	LWPS_NO_EVENT = 1,  /* on one of its CPUs an event did not exist or could not be read */
	LWPS_NOT_RUN = 2,   /* another program used the counter part of the time */
	LWPS_NO_SWITCH = 4, /* the kernel did not report a context switch */
	LWPS_NO_MEMORY = 8, /* the kernel had no memory for its task storage */
	LWPS_NO_CPU = 16,   /* it ran on a CPU whose number is out of range */
	LWPS_LATE_EXEC =
		32, /* the kernel reported an exec late, and counts are on the wrong side */
	/* This LWP is complete, but another LWP of its process shares a slot or is not counted. */
	LWPS_PROC_INCOMPLETE = 64,
};

/* Requests of a tracked LWP: si_code and si_value of a signal that it sends to itself. */
enum lwps_request {
	LWPS_REQUEST = 0x70637478,
	LWPS_REQUEST_OFF = 0x63706300,
	LWPS_REQUEST_ON = 0x63706301,
};

/* Slot numbers.  The shared slot takes the counts of all LWPs that find no other. */
#define LWPS_SHARED 0u
#define LWPS_NONE (~0u)
#define LWPS_MAX_SLOTS (1u << 22)

#define LWPS_AT_ONCE 256    /* processes that are attached to at a time... */
#define LWPS_IN_TREES 65536 /* ...or, with their descendants, in all */

#define LWPS_NO_STORAGE 256 /* LWPs without task storage, at most */

/*
 * The counts of an LWP while it runs one program.  Only the CPU that it runs on changes them.
 * In memory a slot is some lines of equal size, as many as it takes for its columns.
 */
struct lwps_slot {
	__u32 sequence; /* odd while totals change */
	__u32 flaws;
	__u32 tid, tgid;
	char comm[LWPS_COMM]; /* the name before the last that was set; once ended, the last */
	__u64 total[];
};

struct lwps_line {
	__u64 word[8];
} __attribute__((aligned(64)));

#define LWPS_LINE_WORDS 8u
#define LWPS_HEADER_WORDS 4u /* before totals */
_Static_assert(sizeof(struct lwps_slot) == LWPS_HEADER_WORDS * sizeof(__u64), "of a slot");

/* Each CPU has two slots of its own before all others: for untracked tasks, and its part of the
 * shared one. */
#define LWPS_OF_CPU 2u
#define LWPS_CPU_UNTRACKED 0u
#define LWPS_CPU_SHARED 1u

/* The argument of on_call(), which user space runs. */
enum lwps_call { LWPS_REFRESH, LWPS_IDENTIFY, LWPS_TURN };

#define LWPS_NO_TURN (~0u) /* of no column */

/*
 * Records in the ring.  A slot is begun by one record and ended by one; that of an exec may do
 * both.  So there is a bound for the bytes in the ring: LWPS_SLOT_BYTES for each slot.
 */
struct lwps_raw {
	__u64 time_ns;
	__u32 event;
	__u32 slot;
	__u32 other; /* birth: the creator's slot; exec: the next slot */
	__s32 extra; /* birth: the creator's tgid; exec: the tid; exit: the status */
};

#define LWPS_ALL_END 0x10000 /* in the status at an exit: it is that of all LWPs together */

struct lwps_raw_exec {
	struct lwps_raw raw;
	char comm[LWPS_COMM];
	__u32 args_size; /* bytes that follow; 0: the command line could not be read */
};

#define LWPS_BATCH_NS 20000000ull /* between two wake-ups of the reader */
#define LWPS_HURRY_NS 100000ull	  /* the same when slots or the ring run out */

#define LWPS_RING_HEADER 8
#define LWPS_SLOT_BYTES ((sizeof(struct lwps_raw) + LWPS_RING_HEADER) * 2)
_Static_assert(sizeof(struct lwps_raw_exec) + LWPS_RING_HEADER <= LWPS_SLOT_BYTES,
	       "of an exec, either slot pays half");

/* Was the event of a column read at the begin of a slice? */
enum lwps_reading {
	LWPS_UNREAD, /* not yet */
	LWPS_READ,
	LWPS_LOST, /* it could not be read */
};

/* Where the slice of a CPU began, by column. */
struct lwps_start {
	__u64 value;
	__u64 idle;    /* enabled, but not running */
	__u64 reading; /* an enum lwps_reading */
	__u64 calls;   /* of the function, on this CPU so far; changed by atomic operations */
};

/* A CPU and the slice that is counted there now.  Only that CPU changes it. */
struct lwps_cpu {
	__u64 task;    /* the task that runs, since the last switch: an address, only compared */
	__u64 exec_id; /* of that task, if it is tracked: its self_exec_id at its last known exec */
	__u64 cgroup;  /* of that task when it began to run: an address, for LWPS_CGROUP */
	__u32 tracked; /* 1: that task is tracked */
	__u32 slot;    /* its slice is charged to this slot, or to none: LWPS_NONE */
	__u32 busy;    /* 1: a program that interrupts may hit is changing this */
	__u32 flaws;
	__u32 migrated; /* 1: the task came from another CPU */
	__u32 fence;
	__u32 turn; /* the columns that count now, if columns take turns */
	struct lwps_start start[LWPS_MAX_COLUMNS];
	struct lwps_raw_exec exec; /* the record being built, and what follows it */
	char args[LWPS_ARGS];
} __attribute__((aligned(64)));

#endif /* SHARED_H */
