/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * perf.h - single events of the kernel, the PMUs that it exports, and the clock that
 * counts cycles.  perf_event_open(2) is called here only.
 */
#ifndef CPCI_PERF_H
#define CPCI_PERF_H

#include "../diag/diag.h"
#include "../sys/sys.h"
#include "sched.h"

#include <linux/perf_event.h>

/* ---- open.c: events ---------------------------------------------------------- */

struct cpci_target {
	pid_t tid; /* 0: the calling thread, -1: all threads */
	int cpu;   /* -1: any */
};
#define CPCI_TARGET_SELF ((struct cpci_target){.tid = 0, .cpu = -1})

/*
 * Opens an event, in the group of `leader` unless that is -1.  `disabled` applies to leaders,
 * which are also pinned.  Returns a file, or -1 and errno: that of perf_event_open(2), or
 * CPCI_ENOBREAK.  ENOENT: also for events of the scheduler, see cpci_perf_count_sched().
 */
#define CPCI_ENOBREAK ENXIO /* this machine accepts breakpoints but they never fire */
int cpci_perf_open(const struct perf_event_attr *attr, struct cpci_target target, int leader,
		   bool disabled);
/* The program counts these events of the scheduler: see cpc_sched_events(). */
void cpci_perf_count_sched(unsigned bits);
/*
 * Changes the address of an open event (PERF_EVENT_IOC_MODIFY_ATTRIBUTES).  All other fields
 * must be those of opening it, and `disabled` its current state.  -1 and errno.
 */
int cpci_perf_modify(int fd, const struct perf_event_attr *attr, bool leader, bool disabled);
#define CPCI_ENOTSUPP 524 /* the kernel's ENOTSUPP: it cannot probe this instruction */
/* cpci_perf_open() for the instruction at `offset` of an open file. */
int cpci_uprobe_open(const struct perf_event_attr *attr, int file, uint64_t offset,
		     struct cpci_target target, bool disabled);
/*
 * The config3 of an attr, which headers before Linux 6.3 lack: in the place of
 * sample_regs_intr, which libcpc never uses.  Older kernels refuse an event that uses it with
 * E2BIG.
 */
static inline __u64 *cpci_perf_config3(struct perf_event_attr *attr)
{
	return &attr->sample_regs_intr;
}
/* May the caller count such events?  0, or an errno. */
int cpci_uprobe_permitted(const struct perf_event_attr *attr);
/* Makes a tracepoint count only the hits that match the filter.  -1 and errno: EINVAL. */
int cpci_perf_filter(int fd, const char *filter);
/* An event that never counts and uses no counter. */
extern const struct perf_event_attr cpci_perf_dummy;
/* Can the kernel count this event at all, for this caller?  0, or an errno. */
int cpci_perf_probe(const struct perf_event_attr *attr);
int cpci_perf_probe_target(const struct perf_event_attr *attr, struct cpci_target target);
/* The same for an event of a PMU that counts CPUs only; EINVAL: it is not one. */
int cpci_perf_probe_cpu(const struct perf_event_attr *attr);
/* Does this machine have hardware counters that the kernel supports? */
bool cpci_perf_have_core_pmu(void);

/* ---- overflow.c: overflows that send signals ------------------------------ */

/*
 * Makes the event overflow each time that it has counted `period`.  The kernel's limit is
 * 2^63; longer periods never overflow.
 */
void cpci_perf_set_period(struct perf_event_attr *attr, uint64_t period);
/* Changes the period of an open event; safe in signal handlers.  -1 and errno. */
int cpci_perf_change_period(int fd, uint64_t period);
/* Makes overflows of an open event send signal `sig` to thread `tid`.  -1 and errno. */
int cpci_perf_notify(int fd, pid_t tid, int sig);
/* Enables the event up to its next overflow, which disables it.  -1 and errno. */
int cpci_perf_arm(int fd);
/* The same, after resetting the counts of the group that the event leads. */
int cpci_perf_rearm(int fd);
/*
 * Would an overflow of this event hang the machine?  In Linux 6.16 to 6.17.7 the overflow of
 * a clock, in the handler of its timer, waits for that handler to return.
 */
bool cpci_perf_overflow_hangs(const struct perf_event_attr *attr);
/*
 * The shortest period of such an event that does not stop programs.  As long as the timer of a
 * clock that counts only user mode finds the LWP in kernel mode, it restarts after its period, or
 * 10 us.  So shorter periods could stretch a system call to seconds, or lock up the CPU.
 */
uint64_t cpci_perf_least_period(const struct perf_event_attr *attr);
/* Can the kernel detect overflows of such an event? */
bool cpci_perf_overflows(const struct perf_event_attr *attr);

/* ---- ring.c: overflows that the kernel keeps records of -------------------------- */

/* The contents of a record, as in perf_event_attr; `all`: with call stacks and addresses. */
uint64_t cpci_ring_sample_type(bool all);
/* Selects the clock of records.  If one event of a group has it, all of them need it. */
void cpci_ring_clock(struct perf_event_attr *attr);
/*
 * Makes each overflow of the event write a record, as precise as its PMU can if `precise`;
 * the file becomes readable after each `wakeup` records of a ring.
 */
void cpci_ring_record(struct perf_event_attr *attr, uint64_t sample_type, uint32_t wakeup,
		      bool precise);
/*
 * The event that owns a ring.  It counts nothing.  If its target is the calling thread,
 * cpci_ring_flush() makes it write a record, and before that the number of lost records.
 */
struct perf_event_attr cpci_ring_owner(uint64_t sample_type);
void cpci_ring_flush(void);

/* Memory shared with the kernel.  Positions are indices of 64-bit words, growing modulo 2^32. */
struct cpci_ring {
	struct perf_event_mmap_page *page;
	const volatile uint64_t *word; /* `nwords` of them, a power of 2 */
	uint32_t nwords;
	uint64_t sample_type;
};

/*
 * Maps the ring of its owner, as large as the kernel permits: from `most` down to `least`
 * bytes of records.  -1 and errno.
 */
int cpci_ring_map(struct cpci_ring *ring, int fd, size_t most, size_t least);
void cpci_ring_unmap(struct cpci_ring *ring);
/* Makes an open event write into the ring of another one.  -1 and errno. */
int cpci_ring_share(int fd, int owner, uint64_t *id);

struct cpci_record {
	enum { CPCI_RECORD_OTHER, CPCI_RECORD_SAMPLE, CPCI_RECORD_LOST, CPCI_RECORD_THROTTLE } kind;
	uint32_t nwords; /* its size */
	uint64_t lost;	 /* only for CPCI_RECORD_LOST: the number of lost records */
	uint64_t id;	 /* of cpci_ring_share(); in samples only, like the fields below */
	uint64_t pc;
	bool exact; /* pc is the instruction that caused the overflow */
	pid_t tid;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t addr, phys;	/* 0: unknown */
	uint32_t chain, nchain; /* the position of the call stack, and its length including marks */
};

/* The end of the records that the kernel has written. */
uint32_t cpci_ring_head(const struct cpci_ring *ring);
/* Allows the kernel to overwrite all records before `at`. */
void cpci_ring_release(struct cpci_ring *ring, uint32_t at);
/* Reads the record at `at`, before `head`.  False: it is not a record of an overflow. */
bool cpci_ring_parse(const struct cpci_ring *ring, uint32_t at, uint32_t head,
		     struct cpci_record *rec);
/*
 * Copies the call stack of a record, innermost frame first.  The first `*nkernel` frames are
 * in the kernel.  Returns the number of frames, at most `max`.
 */
uint32_t cpci_ring_stack(const struct cpci_ring *ring, const struct cpci_record *rec,
			 uint64_t *frame, uint32_t max, uint32_t *nkernel);

/* ---- kind.c: what an event is ------------------------------------------------- */

bool cpci_perf_is_software(const struct perf_event_attr *attr); /* it uses no counter of a PMU */
bool cpci_perf_is_clock(const struct perf_event_attr *attr);	/* it runs in both modes */
bool cpci_perf_is_core(const struct perf_event_attr *attr); /* its type is one of the core PMU */
bool cpci_perf_has_address(const struct perf_event_attr *attr); /* in all its samples */
/*
 * Is it a breakpoint of Arm64?  The kernel disables it when it is hit, and enables it again after
 * a single step.  If ptrace(2) disturbs that step, the breakpoint counts no more.  A signal
 * repeats the hit.
 */
bool cpci_perf_is_stepped_over(const struct perf_event_attr *attr);
/* Is the PC of its samples that of the instruction that causes the count? */
bool cpci_perf_is_fault(const struct perf_event_attr *attr);
/* Excludes the modes that are not in the CPC_COUNT flags. */
void cpci_perf_set_modes(struct perf_event_attr *attr, uint_t flags);
/* Adapts the mode bits to the kind of event.  `flags`: those of its request. */
void cpci_perf_finish(struct perf_event_attr *attr, uint_t flags);

/* ---- uprobe.c: instructions of files ------------------------------------------- */

/* Makes the attr of calls of a function, or with `ret` of its returns.  False: not supported. */
bool cpci_uprobe_attr(struct perf_event_attr *attr, bool ret);
bool cpci_uprobe_returns(const struct perf_event_attr *attr); /* does it count returns? */
/* Makes an attr that counts returns one that counts the calls. */
void cpci_uprobe_count_calls(struct perf_event_attr *attr);
/*
 * Sets the offset of the semaphore in the file, which is above 0 while a program counts.
 * False: the file is too large.
 */
bool cpci_uprobe_counter(struct perf_event_attr *attr, uint64_t counter);
bool cpci_perf_is_uprobe(const struct perf_event_attr *attr);

/* ---- closer.c: closes events in the background --------------------------------- */

/* Stops an event at once, and closes it in the background. */
void cpci_closer_close(int fd);
void cpci_closer_before_fork(void); /* for pthread_atfork(3) */
void cpci_closer_after_fork(void);
void cpci_closer_forked(void);

/* ---- pmu.c: what /sys/bus/event_source/devices says ----------------------------- */

#define CPCI_PMU_DEVICES "/sys/bus/event_source/devices"
#define CPCI_PMU_NAME 64
#define CPCI_PMU_TEXT 4096 /* the longest line in a file of a PMU */

/* Reads the only line of a file in `dir`, "" or "events/".  False: there is no such file. */
bool cpci_pmu_read(const char *pmu, const char *dir, const char *file, char *text);
/* Reads its type, as in perf_event_attr.  False: no such PMU, or its name is too long. */
bool cpci_pmu_type(const char *pmu, uint32_t *type);
void cpci_pmu_each(void *arg, void (*visit)(void *arg, const char *pmu));
void cpci_pmu_each_file(const char *pmu, const char *dir, void *arg,
			void (*visit)(void *arg, const char *file));
/* The first CPU in the PMU's file cpumask; -1: it has none, so that it also counts LWPs. */
int cpci_pmu_cpu(const char *pmu);
/* Is `cpu` in the PMU's file cpumask or cpus?  True also if there is no such file. */
bool cpci_pmu_lists_cpu(const char *pmu, int cpu);
/*
 * Reads the bits of a field: "config1:0-7,32-35"; the fields config1 to config3 are whole words.
 * False: the PMU has no such field.
 */
bool cpci_pmu_format(const char *pmu, const char *field, char *format);
/* The bits of config that belong to a field: the kernel ignores the others. */
uint64_t cpci_pmu_mask(const char *pmu);
/* Stores `val` in the bits of a format, lowest first.  False: it is larger than *max. */
bool cpci_pmu_put_bits(struct perf_event_attr *attr, const char *format, uint64_t val,
		       uint64_t *max);

/* ---- cores.c: the PMUs of cores, if there are several kinds --------------------- */

#define CPCI_MAX_CORES 8
struct cpci_cores {
	size_t n;
	struct cpci_core {
		uint32_t type;
		char name[CPCI_PMU_NAME];
		bool any;	    /* sysfs names its events... */
		uint64_t low, high; /* ...with codes from 0 and from 0x4000 */
	} core[CPCI_MAX_CORES];
};
const struct cpci_cores *cpci_cores(void);
/* Does one of them have that type?  On x86, one has PERF_TYPE_RAW; on Arm, none has it. */
bool cpci_cores_have_type(uint32_t type);
bool cpci_cores_have_cpu(int cpu); /* does any of them list it? */
/* The kernel's place for the type of the core's PMU in codes of generic events. */
#define CPCI_CORE_SHIFT 32

/* The name of the PMU of events of `type`; for PERF_TYPE_RAW: of the core PMU.  False: "". */
bool cpci_pmu_name(uint32_t type, char *name);
/* The type of an event's PMU; 0: a generic event of the only kind of cores. */
uint32_t cpci_pmu_type_of(const struct perf_event_attr *attr);
/* Does the PMU of an event count on that CPU itself, rather than on another one for it? */
bool cpci_pmu_counts_on(const struct perf_event_attr *attr, int cpu);
/*
 * Does the CPU have this event?  An Arm common event that the CPU lacks can be opened but
 * stays 0; the kernel names only those that the CPU has (PMCEID0_EL0 of the Arm Architecture
 * Reference Manual).  False: the CPU is known to lack it.
 */
bool cpci_pmu_implements(const struct perf_event_attr *attr);

/* ---- generic.c: generic events, if there are several kinds of cores ------------- */

/*
 * Makes a generic event count on one kind of cores: with the type of its PMU, or, on kernels that
 * refuse this, as the PMU's own event.
 */
void cpci_generic_for(struct perf_event_attr *attr, const struct cpci_core *core);

/* ---- topdown.c: Intel's slots, and metrics as shares of them ------------------ */

/* The PMU that has the event slots; NULL: none. */
const char *cpci_topdown_pmu(void);
bool cpci_topdown_is_slots(const struct perf_event_attr *attr);
bool cpci_topdown_is_metric(const struct perf_event_attr *attr);
/* Turns a metric into the event slots. */
void cpci_topdown_make_slots(struct perf_event_attr *attr);

/* ---- userspace.c: counters read without a system call --------------------------- */

/* The value of config1 that makes an event of the calling thread readable by user space. */
uint64_t cpci_user_config1(const struct perf_event_attr *attr);
/* Maps an event's page if user space can read its counter and, with `timed`, its clock; or NULL. */
void *cpci_user_map(int fd, bool timed);
void cpci_user_unmap(void *page);
/*
 * Reads the values of `n` events and the time for which the first one has been on the
 * hardware, all at one instant.  False: use read(2).  Safe in signal handlers.
 */
bool cpci_user_read(void *const *page, uint_t n, uint64_t *value, uint64_t *running_ns);

/* ---- cycles.c: the clock that counts CPU cycles ----------------------------------- */

#define CPCI_RATE_SHIFT 32

struct cpci_clock {
	uint64_t rate; /* cycles per ns, times 2^CPCI_RATE_SHIFT; 0: unknown */
	int64_t ns;    /* the start of the measurement, by both clocks */
	uint64_t tsc;
};

/* Measure from start, when the library is opened, to stop, at the first bind. */
void cpci_clock_start(struct cpci_clock *clock);
void cpci_clock_stop(struct cpci_clock *clock);
uint64_t cpci_cycles(const struct cpci_clock *clock, uint64_t ns);

#endif /* CPCI_PERF_H */
