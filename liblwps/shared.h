/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * shared.h - the memory and records that BPF programs and user space share.
 *
 * __u32 and __u64 must be defined before: by types.h in the kernel, <linux/types.h> in user space.
 */
#ifndef SHARED_H
#define SHARED_H

#define LWPS_MAX_COLUMNS 65 /* a clock, and as many events as a set can have */
#define LWPS_COMM 16	    /* bytes of a thread's name: TASK_COMM_LEN */
#define LWPS_ARGS 4096	    /* bytes of a command line that are kept */

/* Where the count of a column comes from. */
enum lwps_kind {
	/* Counted by the programs, in struct lwps_slice: */
	LWPS_CLOCK,    /* ns on a CPU */
	LWPS_SWITCH,   /* switches to another task */
	LWPS_MIGRATE,  /* migrations to another CPU */
	LWPS_CGROUP,   /* switches to a task of another cgroup, in the hierarchy of perf_event */
	LWPS_DELAY,    /* ns that a task waited for a CPU; counted when it leaves the CPU */
	LWPS_THROTTLE, /* account.h: ns that the quota of a cgroup was used up, on each CPU */
	LWPS_PREEMPT,  /* switches away from a task that did not block */
	LWPS_OTHER,    /* account.h: likewise, and to a task with another key, not the idle task */
	/* Counted elsewhere: */
	LWPS_CPU,      /* a perf event of each CPU, read at context switches */
	LWPS_SOFTWARE, /* likewise, but the kernel keeps its count in memory up to date */
	LWPS_FUNCTION, /* calls of a function or their returns, by a uprobe on all CPUs */
	LWPS_SLICE,    /* LWPS_SLICE_NS for each slice: shows cheaply that the LWP has run */
};

/* At least one cycle of the slowest timers (1 MHz), however it is rounded. */
#define LWPS_SLICE_NS 2000

/* Kinds of records. */
enum lwps_event {
	LWPS_ATTACH, /* an LWP that existed before is tracked from now on */
	LWPS_THREAD, /* an LWP was created in a process... */
	LWPS_FORK,   /* ...or with a new process */
	LWPS_EXEC,   /* a process executes another program */
	LWPS_EXIT,   /* an LWP has exited */
};

/* A hierarchy of cgroups: of cgroup v2, or of a controller of v1. */
enum lwps_hierarchy {
	LWPS_UNIFIED,
	LWPS_MEMORY,
	LWPS_CPUACCT,
	LWPS_PIDS,
	LWPS_PERF_EVENT, /* for LWPS_CGROUP only */
};

/* The processes to track; only those in the tool's PID namespace. */
enum lwps_select {
	LWPS_SELECT_TREE,   /* the tool's child or those of lwps_attach(), and their children */
	LWPS_SELECT_ALL,    /* all */
	LWPS_SELECT_CGROUP, /* those in a cgroup, or in one below it */
	LWPS_SELECT_USER,   /* those that have, or once had, an effective user id */
};

/* The kinds of owners of LWPs: bits.  A slot has a word for each, after its totals. */
enum lwps_owners {
	LWPS_OWNER_CGROUP = 1, /* the id of the cgroup */
	LWPS_OWNER_USER = 2,   /* the effective user id plus 1 */
};

#define LWPS_OWNER_WORDS 2u

#define LWPS_PATH_PART 256 /* bytes of the name of a cgroup, with the NUL: NAME_MAX + 1 */
#define LWPS_PATH 768	   /* bytes of the names of a cgroup and its ancestors */

#define LWPS_PATHS 16384    /* paths of cgroups that the kernel keeps... */
#define LWPS_CPU_PATHS 128u /* ...and free entries that each CPU may reserve */

/* The path of a cgroup. */
struct lwps_path {
	__u32 nparts; /* names in `parts`, each with a NUL: of the cgroup, its parent, ... */
	__u32 cut;    /* 1: incomplete, as there are too many names or one is too long */
	char parts[LWPS_PATH];
};

/* Why the counts of a slot are incomplete: bits. */
enum lwps_flaw {
	LWPS_NO_EVENT = 1,   /* on one of its CPUs an event did not exist or could not be read */
	LWPS_NOT_RUN = 2,    /* another program used the counter part of the time */
	LWPS_NO_SWITCH = 4,  /* the kernel did not report a context switch */
	LWPS_NO_MEMORY = 8,  /* the kernel had no memory for its task storage */
	LWPS_NO_CPU = 16,    /* it ran on a CPU whose number is out of range */
	LWPS_LATE_EXEC = 32, /* an exec was noticed late: old and new program share counts */
	LWPS_TOO_DEEP = 128, /* more calls were nested than the kernel sees return */
	/* This LWP is complete, but another LWP of its process shares a slot or is not counted. */
	LWPS_PROC_INCOMPLETE = 64,
};

/* Requests of a tracked LWP: si_code and si_value of a signal that it sends to itself. */
enum lwps_request {
	LWPS_REQUEST = 0x70637478,
	LWPS_REQUEST_OFF = 0x63706300,
	LWPS_REQUEST_ON = 0x63706301,
};

/* Slot numbers.  LWPs that find no free slot are counted together in the shared slot. */
#define LWPS_SHARED 0u
#define LWPS_NONE (~0u)
#define LWPS_MAX_SLOTS (1u << 22)

#define LWPS_AT_ONCE 256    /* most processes that are attached to at a time... */
#define LWPS_IN_TREES 65536 /* ...with all their descendants, if these are attached to */

#define LWPS_NO_STORAGE 256 /* LWPs without task storage, at most */

/* Each slot begins with this. */
struct lwps_head {
	__u32 sequence; /* odd while totals change */
	__u32 flaws;
};

/*
 * The counts of an LWP while it runs one program.  Only the CPU that it runs on changes them.
 * In memory a slot is an array of struct lwps_line, long enough for its columns.
 */
struct lwps_slot {
	struct lwps_head head;
	__u32 tid, tgid;
	char comm[LWPS_COMM]; /* the name before the last rename; after the exit, the last name */
	__u64 total[];
};

struct lwps_line {
	__u64 word[8];
} __attribute__((aligned(64)));

#define LWPS_LINE_WORDS 8u
#define LWPS_HEADER_WORDS 4u /* before totals */
_Static_assert(sizeof(struct lwps_slot) == LWPS_HEADER_WORDS * sizeof(__u64), "before totals");

/* The first slots in memory are two of each CPU: for untracked tasks, and its part of the shared
 * slot. */
#define LWPS_OF_CPU 2u
#define LWPS_CPU_UNTRACKED 0u
#define LWPS_CPU_SHARED 1u

/* The argument of on_call(), which user space runs. */
enum lwps_call { LWPS_REFRESH, LWPS_IDENTIFY, LWPS_TURN, LWPS_FIND };

#define LWPS_NO_TURN (~0u) /* no column counts */

/*
 * Records in the ring.  One record begins a slot and one ends it; that of an exec may do both.  So
 * LWPS_SLOT_BYTES for each slot are enough for all records, without command lines.
 */
struct lwps_raw {
	__u64 time_ns;
	__u32 event;
	__u32 slot;
	__u32 other; /* birth: the creator's slot; exec: the next slot */
	__s32 extra; /* birth: the creator's tgid; exec: the tid; exit: the status;
		      * attach: 1, if its root or mounts are not the tool's */
};

#define LWPS_ALL_END 0x10000 /* in the status at an exit: all LWPs of the process end at once */

struct lwps_raw_exec {
	struct lwps_raw raw;
	char comm[LWPS_COMM];
	__u32 args_size; /* bytes that follow; 0: the command line could not be read */
	/* The program's file, if its root directory or mount namespace is not the tool's; else 0.
	 */
	__u32 exe_dev;
	__u64 exe_ino;
};

#define LWPS_BATCH_NS 20000000ull /* between two wake-ups of the reader... */
#define LWPS_HURRY_NS 100000ull	  /* ...and when slots or room in the ring become scarce */

#define LWPS_RING_HEADER 8
#define LWPS_SLOT_BYTES ((sizeof(struct lwps_raw) + LWPS_RING_HEADER) * 2)
_Static_assert(sizeof(struct lwps_raw_exec) + LWPS_RING_HEADER <= LWPS_SLOT_BYTES,
	       "of an exec, either slot pays half");

/* Was the event of a column read at the start of a slice? */
enum lwps_reading {
	LWPS_UNREAD, /* not yet */
	LWPS_READ,
	LWPS_LOST, /* it could not be read */
};

/* The count of a column on a CPU when its slice began. */
struct lwps_start {
	__u64 value;
	__u64 idle;    /* ns that the event was enabled, but not running */
	__u64 reading; /* an enum lwps_reading */
	__u64 calls;   /* LWPS_FUNCTION: calls on this CPU so far; changed by atomic operations */
	__u64 event;   /* LWPS_SOFTWARE: the event's id, or its address once found; 0: no event */
};

/*
 * The slice that is counted on a CPU now.  Only that CPU changes it; to exchange events, user space
 * also changes start[].event and start[].reading.
 */
struct lwps_slice {
	__u64 task; /* the running task, as of the last switch: an address; 0: no switch yet */
	__u32 slot; /* the slice is charged to this slot */
	__u32 busy; /* 1: a program is changing this CPU's data, with interrupts on */
	__u32 fence;
	__u32 turn;		   /* the columns that count now, if columns take turns */
	__u64 now[LWPS_OTHER + 1]; /* by kind: the time, and what the programs have counted */
	struct lwps_start start[LWPS_MAX_COLUMNS];
};

/* A CPU.  Its slice is charged to the slot of the running LWP, or to none: LWPS_NONE. */
struct lwps_cpu {
	__u64 exec_id; /* the running task's self_exec_id at its last known exec, if it is tracked
			*/
	__u64 cgroup;  /* of that task when it began to run: an address, for LWPS_CGROUP */
	__u32 tracked; /* 1: that task is tracked */
	struct lwps_slice slice;
	struct lwps_raw_exec exec; /* the record of an exec under construction, with its args */
	char args[LWPS_ARGS];
} __attribute__((aligned(64)));

#endif /* SHARED_H */
