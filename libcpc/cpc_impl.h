/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_impl.h - what the files of libcpc know of each other.
 *
 * A request names an event; the resolvers turn it into terms, each of which is
 * one counter of the kernel.  The requests of a set are its plan, which also
 * says which terms are opened together.  Binding opens a plan's terms for one
 * target; sampling reads them.
 */
#ifndef CPC_IMPL_H
#define CPC_IMPL_H

#include <bsd/sys/queue.h>
#include <libcpc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* One counter of the kernel, as perf_event_open(2) wants it. */
struct cpci_term {
	bool minus; /* its count is taken away from the event's, not added to it */
	uint32_t type;
	uint32_t bp_type; /* breakpoints: HW_BREAKPOINT_* */
	uint8_t precise_ip;
	bool exclude_user, exclude_kernel, exclude_hv, exclude_host, exclude_guest;
	uint64_t config, config1, config2;
	/*
	 * Breakpoints: "", or what config1 is an offset to.  config2, the length, may be 0
	 * then: as long as the symbol.
	 */
	char symbol[256];
};

/* Why something failed: the errno, the subcode, and the words. */
struct cpci_diag {
	int err;
	int subcode;
	char text[1024]; /* symbols can be long */
};

#define CPCI_MAX_TERMS 8

/* What a name stands for: a sum and difference of terms, mostly one. */
struct cpci_event {
	const struct cpci_defs *defs; /* given: the definitions to look in */
	uint_t depth;		      /* given: how many led here, lest they go in circles */
	const char *resolver;	      /* who knew the name */
	double scale;		      /* what a count is to be multiplied with... */
	char unit[16];		      /* ...to be in this unit; "": it is a number */
	uint_t nterms;
	struct cpci_term term[CPCI_MAX_TERMS];
};

struct cpci_req {
	char *name;
	uint64_t preset;
	uint_t flags;
	uint_t nattrs;
	cpc_attr_t *attrs;
	uint_t slot;
	struct cpci_event event;
};

/* A term's place in the order in which the kernel reports them. */
struct cpci_member {
	uint_t req, term;
};

/* Members first..first + n - 1 are opened, and read, as one group. */
struct cpci_span {
	uint_t first, n;
	bool hardware;
	bool core; /* of a core PMU: others may take its counters */
};

/* What a set counts.  Shared by a set, its duplicates and their buffers. */
struct cpci_plan {
	atomic_uint refs;
	uint_t nreqs;
	struct cpci_req *req;
	uint_t nmembers;
	struct cpci_member *member; /* the terms of all requests, by group */
	uint_t ngroups;
	struct cpci_span *group;
	atomic_bool fits; /* its hardware groups were found to fit the PMU */
	int *spare;	  /* see cpci_group_keep */
};

enum cpci_bound {
	CPCI_UNBOUND,
	CPCI_LWP,
	CPCI_PCTX,
	CPCI_CPU,	 /* and the LWP that bound it is put on that CPU */
	CPCI_CPU_REMOTE, /* the LWP is left where it is */
};

/* What was known of claims of CPUs when a set was bound to an LWP. */
struct cpci_pass {
	uint64_t roots, others;
};

struct cpc_set {
	cpc_t *cpc;
	struct cpci_plan *plan;
	uint64_t *preset; /* one per request, the values at the next bind */
	uint64_t *start;  /* those of the last bind */
	enum cpci_bound bound;
	bool off;		/* it does not count for now */
	pid_t owner;		/* CPCI_LWP, CPCI_CPU: the thread that bound it */
	struct cpci_own *own;	/* CPCI_LWP: its place with that thread */
	int *fd;		/* one per member and a witness while bound, or NULL */
	void **page;		/* what the kernel maps for each; NULL: only read(2) reads them */
	struct cpci_site *site; /* while bound, one per member; NULL: there are no symbols */
	pid_t target;		/* the thread whose process they are in */
	uint_t tick_source;	/* CPCI_RAW_ENABLED or CPCI_RAW_RUNNING */
	uint64_t enabled_ns;	/* CPUs: the time enabled at the last sample */
	cpu_set_t *affinity;	/* CPCI_CPU: where the owner ran before */
	size_t affinity_size;
	struct cpci_claim *claim; /* CPUs; NULL: none, or shared */
	struct cpci_pass pass;	  /* LWPs */
	LIST_ENTRY(cpc_set) link;
};

struct cpc_buf {
	cpc_t *cpc;
	struct cpci_plan *plan;
	uint_t nreqs;
	hrtime_t hrtime;
	uint64_t tick; /* cycles that the set was on the hardware */
	uint64_t *raw; /* room for one read(2) of the largest group */
	LIST_ENTRY(cpc_buf) link;
	uint64_t val[];
};

#define CPCI_RATE_SHIFT 32

struct cpci_clock {
	uint64_t rate; /* cycles per ns, times 2^CPCI_RATE_SHIFT; 0: not known yet */
	int64_t ns;    /* when the measuring began, by both clocks */
	uint64_t tsc;
};

struct cpc {
	pthread_mutex_t lock; /* the lists, who bound what, and what is made once */
	cpc_errhndlr_t *errhndlr;
	uint_t npic, caps; /* npic 0: what the machine has is not known yet */
	char cciname[128];
	struct cpci_clock clock;
	struct cpci_defs *defs;				 /* NULL: not read yet */
	LIST_HEAD(cpci_symfiles, cpci_symfile) symfiles; /* see symfile.c */
	LIST_HEAD(cpci_sets, cpc_set) sets;
	LIST_HEAD(cpci_bufs, cpc_buf) bufs;
};

/* handle.c */
/* The definitions of events, read when first asked for.  NULL: see `diag`. */
const struct cpci_defs *cpci_defs(cpc_t *cpc, struct cpci_diag *diag);
pid_t cpci_self(void); /* the calling thread's id, without a system call */

/* error.c */
__attribute__((format(printf, 4, 5))) void cpci_diag(struct cpci_diag *diag, int err, int subcode,
						     const char *fmt, ...);
/* Tells the error handler, sets errno, returns -1. */
int cpci_fail(cpc_t *cpc, const char *fn, const struct cpci_diag *diag);
__attribute__((format(printf, 5, 6))) int cpci_failf(cpc_t *cpc, const char *fn, int err,
						     int subcode, const char *fmt, ...);

/* plan.c */
const struct cpci_term *cpci_plan_term(const struct cpci_plan *plan, struct cpci_member member);
struct cpci_plan *cpci_plan_new(void);
struct cpci_plan *cpci_plan_hold(struct cpci_plan *plan);
void cpci_plan_drop(struct cpci_plan *plan);
/* A plan of its own with the same requests; NULL and errno. */
struct cpci_plan *cpci_plan_copy(const struct cpci_plan *plan);
int cpci_plan_add(struct cpci_plan *plan, const struct cpci_req *req);

/* event.c */
/* Fills in `event`, whose defs and depth are given, by its name and CPC_COUNT flags.  -1: see
 * `diag`. */
int cpci_event_resolve(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag);
bool cpci_parse_number(const char *s, uint64_t *val); /* decimal, 0x hex, 0 octal */
void cpci_term_modes(struct cpci_term *term, uint_t flags);
bool cpci_term_is_software(const struct cpci_term *term);
bool cpci_term_is_clock(const struct cpci_term *term); /* it runs in both modes */
/* Names and descriptions of an event each. */
typedef void cpci_walk_fn(void *arg, const char *name, const char *desc);
void cpci_event_walk(void *arg, cpci_walk_fn *action); /* events that are nobody else's */

/*
 * The resolvers.  1: the terms of `event` are it; 0: not one of mine; -1: mine, but
 * it cannot be had, and `diag` says why.
 */
typedef int cpci_resolver(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag);
cpci_resolver cpci_event_user, cpci_event_solaris, cpci_event_generic; /* event_defs.c */
cpci_resolver cpci_event_pfm;					       /* event_pfm.c */
cpci_resolver cpci_event_sysfs;					       /* event_sysfs.c */
cpci_resolver cpci_event_trace;					       /* event_trace.c */
cpci_resolver cpci_event_break;					       /* event_break.c */

/* event_defs.c: definitions of events, in the order in which they are looked at */
enum cpci_source { CPCI_DEF_USER, CPCI_DEF_SOLARIS, CPCI_DEF_GENERIC };

struct cpci_def {
	enum cpci_source source;
	char *file;
	int line;
	bool arch; /* its names are those of the core PMU */
	bool here; /* it is for this machine */
	char *name, *expr, *desc;
};

struct cpci_defs {
	const char *pmu; /* the core PMU's name; NULL: unknown */
	size_t n;
	struct cpci_def *def;
};

/* Reads the user's files and the shipped definitions.  NULL: see `diag`. */
struct cpci_defs *cpci_defs_new(struct cpci_diag *diag);
void cpci_defs_free(struct cpci_defs *defs);

/* nearest.c: which of the known names a misspelt one was meant to be */
struct cpci_nearest {
	const char *name;
	unsigned distance; /* of the best so far */
	char best[80];	   /* "": nothing is near */
};

void cpci_nearest_start(struct cpci_nearest *near, const char *name);
void cpci_nearest_try(struct cpci_nearest *near, const char *candidate);

/* event_pfm.c */
struct cpci_core_pmu {
	const char *name, *desc;
	uint_t ncounters; /* general and fixed ones */
};
/* What libpfm4 takes this machine's core PMU for; false: none that it knows. */
bool cpci_pfm_core(struct cpci_core_pmu *pmu);
/* Is it an event of another CPU, and of which? */
bool cpci_pfm_elsewhere(const char *name, const char **desc);
/* Names and descriptions: the kernel's generic events, short; those of the core PMU. */
void cpci_pfm_walk(void *arg, cpci_walk_fn *action);
void cpci_pfm_walk_core(void *arg, cpci_walk_fn *action);

/* event_sysfs.c: the events of PMUs */
void cpci_sysfs_walk(void *arg, cpci_walk_fn *action);

/* pmu.c: the PMUs that the kernel exports */
#define CPCI_PMU_NAME 64
#define CPCI_PMU_TEXT 4096 /* a file of a PMU, of which there is one line */
/* That line, without its end, of a file in `dir`, "" or "events/".  False: there is none. */
bool cpci_pmu_read(const char *pmu, const char *dir, const char *file, char *text);
void cpci_pmu_each(void *arg, void (*visit)(void *arg, const char *pmu));
void cpci_pmu_each_file(const char *pmu, const char *dir, void *arg,
			void (*visit)(void *arg, const char *file));
/* The name of the PMU that counts terms of `type`; of PERF_TYPE_RAW: the core PMU. */
bool cpci_pmu_name(uint32_t type, char *name);
/* Does a term's PMU count on that CPU, and not on another one for it? */
bool cpci_pmu_counts_on(const struct cpci_term *term, int cpu);
/* Where the PMU has that field: "config1:0-7,32-35".  False: it has none. */
bool cpci_pmu_format(const char *pmu, const char *field, char *format);
void cpci_pmu_walk_format(const char *pmu, void *arg, void (*action)(void *arg, const char *field));
/* The bits of config that are some field's: the kernel ignores the others. */
uint64_t cpci_pmu_mask(const char *pmu);
/*
 * Puts `val` into the bits of a format, from the lowest on.  False: the value is larger
 * than *max.
 */
bool cpci_pmu_put_bits(struct cpci_term *term, const char *format, uint64_t val, uint64_t *max);
/*
 * A common event of Arm that the CPU does not have can be opened, and stays 0; but the
 * kernel names only those that it has (PMCEID0_EL0 of the Arm Architecture Reference
 * Manual).  False: the CPU is known not to have that event.
 */
bool cpci_pmu_implements(const struct cpci_term *term);

/* The PMUs of cores, if there are cores of several kinds, or they say so. */
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
/*
 * An event of the core PMU counts on one kind of cores only: where there are several
 * kinds, makes it the sum over them all.  -1: these are too many terms.
 */
int cpci_pmu_spread(struct cpci_event *event);

/* attr.c */
/* Sets an attribute of a resolved event called `name`.  -1: see `diag`. */
int cpci_attr_apply(struct cpci_event *event, const char *name, const cpc_attr_t *attr,
		    struct cpci_diag *diag);

bool cpci_attr_is(const char *name);	       /* one of the programs' own, too */
void cpci_attr_try(struct cpci_nearest *near); /* their names, the programs' own too */

/* group.c: the only perf_event_open(2) */
struct cpci_target {
	pid_t tid; /* 0: the calling thread, -1: all */
	int cpu;   /* -1: any */
};
/* Where the symbol of a member is, plus its offset. */
struct cpci_site {
	uint64_t addr; /* 0: not found yet; it counts nothing */
	uint64_t len;  /* the size of what is there; 0: unknown */
};
/*
 * Opens all members of a plan, not counting yet; -1, errno, and which was refused.
 * `place` is per member, or NULL.
 */
int cpci_group_open(struct cpci_plan *plan, struct cpci_target target, const struct cpci_site *site,
		    int *fd, struct cpci_member *bad);
/*
 * Moves member `i` to where its symbol is; it goes on from its count, if the set is not
 * `off`.  -1 and errno.
 */
int cpci_group_move(const struct cpci_plan *plan, uint_t i, const struct cpci_site *site, int fd,
		    bool off);
int cpci_group_start(const struct cpci_plan *plan, const int *fd); /* -1 and errno */
/* A group that was started, but has no counters, since others hold them; -1: none. */
int cpci_group_lost(const struct cpci_plan *plan, const int *fd);
/* Does a member that was refused exclude one before it, whatever else is counted? */
bool cpci_group_conflict(const struct cpci_plan *plan, struct cpci_target target,
			 struct cpci_member bad, struct cpci_member *other);
/* Off, counters keep their values, and go on from there.  -1: EAGAIN, they were lost. */
int cpci_group_switch(const struct cpci_plan *plan, const int *fd, bool on);
void cpci_group_close(const struct cpci_plan *plan, const int *fd);
/* Keeps one throw-away event of each kind open, which makes opening more cheap. */
void cpci_group_keep(struct cpci_plan *plan);
/* A single event that does not count but takes its place; a file, or -1 and errno. */
int cpci_group_reserve(const struct cpci_term *term, struct cpci_target target);
/* Can the kernel count that at all, for the caller?  0, or an errno. */
int cpci_group_probe(const struct cpci_term *term);
/* How many counters of the core PMU a set can have at once, found out by taking them. */
uint_t cpci_group_capacity(void);
/* Does its counter interrupt when it overflows? */
bool cpci_group_overflows(const struct cpci_term *term);
/*
 * One read(2) of the group with leader `fd` and `n` members into `raw`: the
 * number of values, time enabled and running in ns, the values.  -1: EAGAIN, ENOSYS.
 */
enum { CPCI_RAW_N, CPCI_RAW_ENABLED, CPCI_RAW_RUNNING, CPCI_RAW_VALUES };
int cpci_group_read(int fd, uint_t n, uint64_t *raw);
/*
 * How long core groups of an LWP have been enabled at least, unless they lost their
 * counters.  To be asked before they are read.
 */
uint64_t cpci_group_least_ns(const struct cpci_plan *plan, const int *fd);

/* fastread.c: counters of the calling LWP, read without a system call */
/* What an event is to have in config1 to be readable that way. */
uint64_t cpci_fast_config1(const struct cpci_term *term);
/* Maps the pages of a set that was just bound, if all of it can be read that way. */
void cpci_fast_map(struct cpc_set *set);
void cpci_fast_unmap(struct cpc_set *set);
/* Fills `raw` as cpci_group_read does; false: that is to be used.  Safe in signal handlers. */
bool cpci_fast_read(const struct cpc_set *set, uint64_t *raw);

/* symbol.c: where symbols are in a process */
/*
 * The sites of a set that is to be bound, allocated; NULL when it has no symbols.  With
 * the lock held.  -1: see `diag`.
 */
int cpci_sites_make(cpc_t *cpc, const cpc_set_t *set, struct cpci_target target, uint_t flags,
		    struct cpci_site **site, struct cpci_diag *diag);

/* symfile.c: symbols in ELF files */
enum cpci_symbol_kind {
	CPCI_SYM_NONE,
	CPCI_SYM_FOUND,
	CPCI_SYM_AMBIGUOUS, /* `n` local ones */
	CPCI_SYM_IFUNC,
	CPCI_SYM_TLS,
};

/* A part of a file that is mapped as code, in whole pages. */
struct cpci_segment {
	uint64_t offset, addr;
};
#define CPCI_MAX_SEGMENTS 4

struct cpci_symbol {
	enum cpci_symbol_kind kind;
	uint64_t value, size; /* as in the file; what is mapped elsewhere is elsewhere */
	uint_t n;
	/* Of its file. */
	uint64_t entry;
	uint_t nsegments;
	const struct cpci_segment *segment;
};

/*
 * What the file at `path` has by that name, with the lock held.  NULL and errno: it cannot
 * be read, or is not the one with inode number `ino` (0: any).
 */
const struct cpci_symbol *cpci_symfile_find(cpc_t *cpc, const char *path, uint64_t ino,
					    const char *name);
void cpci_symfiles_free(cpc_t *cpc);

/* registers.c: the registers for breakpoints */
/*
 * Would an LWP that has none taken have them for all breakpoints of a plan?  And how many
 * that are good for `term`.
 */
bool cpci_registers_suffice(const struct cpci_plan *plan, const struct cpci_term *term,
			    uint_t *number);

/* why.c: the reason in words for the errno that opening a request gave. */
void cpci_why(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
	      struct cpci_target target);
/* A breakpoint of a plan had no register. */
void cpci_why_no_register(struct cpci_diag *diag, const char *name, const struct cpci_plan *plan,
			  const struct cpci_term *term);
bool cpci_have_core_pmu(void);
bool cpci_privileged(pid_t pid); /* CAP_PERFMON or CAP_SYS_ADMIN; 0: the calling process */
int cpci_paranoid(void);	 /* kernel.perf_event_paranoid; INT_MIN: no perf events */

/* bind.c */
void cpci_unbind(struct cpc_set *set);
hrtime_t cpci_now(void); /* CLOCK_MONOTONIC */

/* control.c: the sets that LWPs bound to themselves */
struct cpci_own *cpci_own_new(void); /* NULL: out of memory; not added, free(3) it */
void cpci_own_add(struct cpci_own *own, struct cpc_set *set); /* to the calling LWP's */
void cpci_own_remove(struct cpc_set *set);

/* exclusive.c: one set per CPU, and none on LWPs meanwhile, over all processes */
/* Once it is made, passes of LWPs hold no more.  NULL: another has that CPU, see `diag`. */
struct cpci_claim *cpci_claim(int cpu, struct cpci_diag *diag);
bool cpci_claim_is_for(const struct cpci_claim *claim, int cpu); /* ours; NULL: no */
void cpci_claim_drop(struct cpci_claim *claim);			 /* NULL: nothing */
void cpci_claims_forget(void); /* in a forked child: they are the parent's */
/* To be taken before an LWP's set counts.  -1: a CPU is claimed, see `diag`. */
int cpci_pass_take(struct cpci_pass *pass, struct cpci_diag *diag);
/* Was no CPU claimed up to `ns`, the time now?  Safe in signal handlers. */
bool cpci_pass_holds(const struct cpci_pass *pass, int64_t ns);

/* place.c: where claims of CPUs are, one file for each */
enum cpci_place { CPCI_ROOTS, CPCI_USERS, CPCI_NOWHERE };
extern const char *const cpci_place_path[];
#define CPCI_CLAIM_PREFIX "cpc-cpu" /* of a claim's name; then CPU-TOKEN-RANDOM */

typedef _Atomic uint64_t cpci_token_t;

struct cpci_found {
	int cpu;
	pid_t pid; /* 0: another PID namespace's */
};

/* The directory, if nobody can remove there what is another's; -1 and errno. */
int cpci_place_open(enum cpci_place place);
/* The mutex of our user's claims; closing it gives it back.  -1: it is not to be had. */
int cpci_place_mutex(int dir);
/*
 * Finds a claim of another process on `cpu`, or on any (-1).  `own`: the token of our
 * own ones.  `tidy`: where what dead processes left shall be removed; takes the mutex.
 * Safe in signal handlers.
 */
bool cpci_place_find(int cpu, const cpci_token_t *own, enum cpci_place tidy,
		     struct cpci_found *found);
void cpci_place_who(const struct cpci_found *found, char *text, size_t size);

/* tick.c: the clock that counts CPU cycles */
/* Measures between start, when the library is opened, and stop, at the first bind. */
void cpci_clock_start(struct cpci_clock *clock);
void cpci_clock_stop(struct cpci_clock *clock);
uint64_t cpci_cycles(const struct cpci_clock *clock, uint64_t ns);

#endif /* CPC_IMPL_H */
