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

#include <linux/perf_event.h>

/* ---- open.c: events ---------------------------------------------------------- */

struct cpci_target {
	pid_t tid; /* 0: the calling thread, -1: all */
	int cpu;   /* -1: any */
};

/*
 * Opens an event, into the group of `leader` unless that is -1.  `disabled` is for leaders,
 * which are pinned then.  Returns a file, or -1 and errno: that of perf_event_open(2), or
 * CPCI_ENOBREAK.
 */
#define CPCI_ENOBREAK ENXIO /* this machine accepts breakpoints, and they never fire */
int cpci_perf_open(const struct perf_event_attr *attr, struct cpci_target target, int leader,
		   bool disabled);
/*
 * Gives an open event another address (PERF_EVENT_IOC_MODIFY_ATTRIBUTES); all else is to be
 * as it was opened, and `disabled` as it is now.  -1 and errno.
 */
int cpci_perf_modify(int fd, const struct perf_event_attr *attr, bool leader, bool disabled);
/* cpci_perf_open() of the instruction at `offset` of an open file. */
int cpci_uprobe_open(const struct perf_event_attr *attr, int file, uint64_t offset,
		     struct cpci_target target, bool disabled);
/*
 * Where an attr has its config3, which the kernel has since Linux 6.3: opening an event that uses
 * it fails with E2BIG before.
 */
__u64 *cpci_perf_config3(struct perf_event_attr *attr);
/* May the caller count such events?  0, or an errno. */
int cpci_uprobe_permitted(const struct perf_event_attr *attr);
/* Has a tracepoint count only what the filter lets through.  -1 and errno: EINVAL. */
int cpci_perf_filter(int fd, const char *filter);
/* The event that never counts and that nobody can take a counter from. */
extern const struct perf_event_attr cpci_perf_dummy;
/* Can the kernel count that at all, for the caller?  0, or an errno. */
int cpci_perf_probe(const struct perf_event_attr *attr);
/* The same for one of a PMU that counts CPUs only; EINVAL: it is none. */
int cpci_perf_probe_cpu(const struct perf_event_attr *attr);
/* Does the machine have hardware counters that the kernel drives? */
bool cpci_perf_have_core_pmu(void);

/* ---- overflow.c: events that tell when they overflow ---------------------------- */

/*
 * The event overflows each time that it has counted `period`.  The kernel takes less than
 * 2^63; more than that never happens.
 */
void cpci_perf_set_period(struct perf_event_attr *attr, uint64_t period);
/* The same of an open event, from now on; safe in signal handlers.  -1 and errno. */
int cpci_perf_change_period(int fd, uint64_t period);
/* Overflows of an open event send signal `sig` to thread `tid`.  -1 and errno. */
int cpci_perf_notify(int fd, pid_t tid, int sig);
/* Switches it on up to its next overflow, which switches it off.  -1 and errno. */
int cpci_perf_arm(int fd);
/* The same after the counts of the group that it leads have begun anew. */
int cpci_perf_rearm(int fd);
/*
 * Would that bring the machine down?  From Linux 6.16 to 6.17.7 a clock that is switched off
 * by its overflow waits for its own timer to end, in that timer.
 */
bool cpci_perf_overflow_hangs(const struct perf_event_attr *attr);
/*
 * The shortest period of such an event that does not stop programs.  The timer of a clock that
 * counts in user mode alone is armed anew, after its period or 10 us, as long as it finds the LWP
 * in kernel mode: with less, a system call may take seconds, or the CPU be locked up.
 */
uint64_t cpci_perf_least_period(const struct perf_event_attr *attr);
/* Can the kernel notice that such an event overflows? */
bool cpci_perf_overflows(const struct perf_event_attr *attr);

/* ---- ring.c: overflows that the kernel keeps records of -------------------------- */

/* What each record is to tell, as in perf_event_attr: call stacks and addresses, or not. */
uint64_t cpci_ring_sample_type(bool all);
/* The clock of records, which all events of a group are to have if one has it. */
void cpci_ring_clock(struct perf_event_attr *attr);
/*
 * Each overflow of the event is to be recorded, as precisely as its PMU can if `precise`;
 * files poll readable after each `wakeup` records of a ring.
 */
void cpci_ring_record(struct perf_event_attr *attr, uint64_t sample_type, uint32_t wakeup,
		      bool precise);
/*
 * The event that owns a ring.  It counts nothing; but if the calling thread is its target, it
 * records when cpci_ring_flush() is called, and with that what was lost before.
 */
struct perf_event_attr cpci_ring_owner(uint64_t sample_type);
void cpci_ring_flush(void);

/*
 * What the kernel shares with us.  Positions in it are those of 64-bit words, modulo 2^32,
 * which grow for ever.
 */
struct cpci_ring {
	struct perf_event_mmap_page *page;
	const volatile uint64_t *word; /* `nwords` of them, a power of 2 */
	uint32_t nwords;
	uint64_t sample_type;
};

/*
 * Maps the ring of its owner, as large as the kernel permits, from `most` down to `least` bytes
 * of records.  -1 and errno.
 */
int cpci_ring_map(struct cpci_ring *ring, int fd, size_t most, size_t least);
void cpci_ring_unmap(struct cpci_ring *ring);
/* Has an open event write into the ring of another one.  -1 and errno. */
int cpci_ring_share(int fd, int owner, uint64_t *id);

struct cpci_record {
	enum { CPCI_RECORD_OTHER, CPCI_RECORD_SAMPLE, CPCI_RECORD_LOST, CPCI_RECORD_THROTTLE } kind;
	uint32_t nwords; /* its size */
	uint64_t lost;	 /* of CPCI_RECORD_LOST: how many records were */
	uint64_t id;	 /* of samples, as all that follows: whose, by cpci_ring_share() */
	uint64_t pc;
	bool exact; /* it is that of the instruction that made the event overflow */
	pid_t tid;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t addr, phys;	/* 0: unknown */
	uint32_t chain, nchain; /* where the call stack is, and its length with marks */
};

/* The end of what the kernel has written. */
uint32_t cpci_ring_head(const struct cpci_ring *ring);
/* All before that may be overwritten. */
void cpci_ring_release(struct cpci_ring *ring, uint32_t at);
/* Reads the record at `at`, before `head`.  False: there is none, but something else. */
bool cpci_ring_parse(const struct cpci_ring *ring, uint32_t at, uint32_t head,
		     struct cpci_record *rec);
/*
 * The call stack of a record, innermost first, of which the first `*nkernel` frames are in the
 * kernel.  Returns how many there are, `max` at most.
 */
uint32_t cpci_ring_stack(const struct cpci_ring *ring, const struct cpci_record *rec,
			 uint64_t *frame, uint32_t max, uint32_t *nkernel);

/* ---- kind.c: what an event is ------------------------------------------------- */

bool cpci_perf_is_software(const struct perf_event_attr *attr); /* it takes no counter of a PMU */
bool cpci_perf_is_clock(const struct perf_event_attr *attr);	/* it runs in both modes */
bool cpci_perf_is_core(const struct perf_event_attr *attr);	/* of the core PMU, by its type */
bool cpci_perf_has_address(const struct perf_event_attr *attr); /* its samples always have one */
/*
 * A breakpoint of Arm64, which the kernel switches off when it is hit, and on again after a single
 * step.  ptrace(2) takes that step away, and it counts no more; a signal has the hit again.
 */
bool cpci_perf_is_stepped_over(const struct perf_event_attr *attr);
/* Is the PC of its samples that of the instruction that makes it count? */
bool cpci_perf_is_fault(const struct perf_event_attr *attr);
/* Leaves out the modes that CPC_COUNT flags do not name. */
void cpci_perf_set_modes(struct perf_event_attr *attr, uint_t flags);
/* What holds for every event, however it was named; `flags` of its request. */
void cpci_perf_finish(struct perf_event_attr *attr, uint_t flags);

/* ---- uprobe.c: instructions of files ------------------------------------------- */

/* `ret`: returns of the function that begins there, not calls.  False: the kernel cannot. */
bool cpci_uprobe_attr(struct perf_event_attr *attr, bool ret);
/*
 * Where in the file the semaphore is that is above 0 while somebody counts.  False: before
 * Linux 4.20, or the file is too large.
 */
bool cpci_uprobe_counter(struct perf_event_attr *attr, uint64_t counter);
bool cpci_perf_is_uprobe(const struct perf_event_attr *attr);

/* ---- closer.c: closes them behind the caller's back ------------------------------ */

/* close(2), of which nobody waits for the end; it counts no more. */
void cpci_closer_close(int fd);
/* Leaves what is still to be closed to a process of its own, so that this one can end. */
void cpci_closer_leave(void);
void cpci_closer_before_fork(void); /* for pthread_atfork(3) */
void cpci_closer_after_fork(void);
void cpci_closer_forked(void);

/* ---- pmu.c: what /sys/bus/event_source/devices says ----------------------------- */

#define CPCI_PMU_NAME 64
#define CPCI_PMU_TEXT 4096 /* a file of a PMU, of which there is one line */

/* That line, without its end, of a file in `dir`, "" or "events/".  False: there is none. */
bool cpci_pmu_read(const char *pmu, const char *dir, const char *file, char *text);
/* Its type, as in perf_event_attr.  False: no such PMU, or its name is too long. */
bool cpci_pmu_type(const char *pmu, uint32_t *type);
void cpci_pmu_each(void *arg, void (*visit)(void *arg, const char *pmu));
void cpci_pmu_each_file(const char *pmu, const char *dir, void *arg,
			void (*visit)(void *arg, const char *file));
/* The first CPU in its file cpumask; -1: it has none, and so counts LWPs, too. */
int cpci_pmu_cpu(const char *pmu);
/* Is `cpu` in its file cpumask or cpus?  True also when there is none. */
bool cpci_pmu_lists_cpu(const char *pmu, int cpu);
/* Is it all of config1, config2 or config3? */
bool cpci_pmu_is_word(const char *field);
/* Where the PMU has that field: "config1:0-7,32-35".  False: it has none. */
bool cpci_pmu_format(const char *pmu, const char *field, char *format);
void cpci_pmu_walk_format(const char *pmu, void *arg, void (*action)(void *arg, const char *field));
/* The bits of config that are some field's: the kernel ignores the others. */
uint64_t cpci_pmu_mask(const char *pmu);
/* Puts `val` into the bits of a format, from the lowest on.  False: it is larger than *max. */
bool cpci_pmu_put_bits(struct perf_event_attr *attr, const char *format, uint64_t val,
		       uint64_t *max);

/* ---- cores.c: the PMUs of cores, if there are several kinds, or they say so ------ */

#define CPCI_MAX_CORES 8
struct cpci_cores {
	size_t n;
	struct cpci_core {
		uint32_t type;
		char name[CPCI_PMU_NAME];
		bool any;	    /* it names its events... */
		uint64_t low, high; /* ...those with codes from 0 and from 0x4000 on */
	} core[CPCI_MAX_CORES];
};
const struct cpci_cores *cpci_cores(void);
/* Where the kernel takes the type of the core's PMU in codes of generic events. */
#define CPCI_CORE_SHIFT 32

/* The name of the PMU that counts events of `type`; of PERF_TYPE_RAW: the core PMU. */
bool cpci_pmu_name(uint32_t type, char *name);
/* Does an event's PMU count on that CPU, and not on another one for it? */
bool cpci_pmu_counts_on(const struct perf_event_attr *attr, int cpu);
/*
 * A common event of Arm that the CPU does not have can be opened, and stays 0; but the
 * kernel names only those that it has (PMCEID0_EL0 of the Arm Architecture Reference
 * Manual).  False: the CPU is known not to have that event.
 */
bool cpci_pmu_implements(const struct perf_event_attr *attr);

/* ---- topdown.c: Intel's slots, and the metrics that are parts of them ------------- */

/* The PMU that has them; NULL: none. */
const char *cpci_topdown_pmu(void);
bool cpci_topdown_is_slots(const struct perf_event_attr *attr);
bool cpci_topdown_is_metric(const struct perf_event_attr *attr);
/* Of a metric, the slots that it is a part of. */
void cpci_topdown_make_slots(struct perf_event_attr *attr);

/* ---- userspace.c: counters read without a system call --------------------------- */

/* What an event of the calling thread is to have in config1 to be readable that way. */
uint64_t cpci_user_config1(const struct perf_event_attr *attr);
/* Maps an event's page if its counter, and if need be its clock, can be read that way, or NULL. */
void *cpci_user_map(int fd, bool timed);
void cpci_user_unmap(void *page);
/*
 * The values of `n` events and the time for which the first has been on the hardware, all
 * at one instant.  False: read(2) is to be used.  Safe in signal handlers.
 */
bool cpci_user_read(void *const *page, uint_t n, uint64_t *value, uint64_t *running_ns);

/* ---- cycles.c: the clock that counts CPU cycles ----------------------------------- */

#define CPCI_RATE_SHIFT 32

struct cpci_clock {
	uint64_t rate; /* cycles per ns, times 2^CPCI_RATE_SHIFT; 0: not known yet */
	int64_t ns;    /* when the measuring began, by both clocks */
	uint64_t tsc;
};

/* Measures between start, when the library is opened, and stop, at the first bind. */
void cpci_clock_start(struct cpci_clock *clock);
void cpci_clock_stop(struct cpci_clock *clock);
uint64_t cpci_cycles(const struct cpci_clock *clock, uint64_t ns);

#endif /* CPCI_PERF_H */
