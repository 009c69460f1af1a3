/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* set.h - handles, sets and buffers: the objects of the public calls. */
#ifndef CPCI_SET_H
#define CPCI_SET_H

#include "../claim/claim.h"
#include "../explain/explain.h"
#include "../symbol/symbol.h"

#include <cpc_pic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum cpci_bound {
	CPCI_UNBOUND,
	CPCI_LWP,
	CPCI_PCTX,
	CPCI_CPU,	 /* the LWP that bound it is moved to that CPU */
	CPCI_CPU_REMOTE, /* the LWP that bound it is not moved */
};

#define CPCI_MAX_REQUESTS 64 /* of a set */

struct cpc_set {
	cpc_t *cpc;
	cpc_set_t *origin; /* the set that it is an inherited copy of; itself: none */
	struct cpci_plan *plan;
	uint64_t *preset;		/* one per request: the values at the next bind */
	uint64_t *start;		/* those of the last bind; followed by the files */
	_Atomic(enum cpci_bound) bound; /* its LWP reads it without the lock */
	bool off;			/* switched off */
	bool lwps;		/* bound to a CPU but counts for LWPs: see CPC_BIND_CPU_LWPS */
	pid_t owner;		/* CPCI_LWP, CPCI_CPU: the thread that bound it */
	struct cpci_link *link; /* shared with its LWP and its controller: see link.c */
	struct cpci_overflow *overflow; /* while bound; NULL: not CPCI_LWP */
	struct cpci_pcbuf *pcbuf;	/* while bound; NULL: no overflows are buffered */
	struct cpci_family *family;	/* while bound; NULL: not inheritable */
	int err;			/* why a copy got no counters... */
	char *why;			/* ...as a message; NULL: that of the errno */
	int *fd;			/* while bound: one per term and one more; or NULL */
	void **page;			/* the mapped page of each event; NULL: use read(2) */
	struct cpc_pic *pic;		/* CPCI_MAX_REQUESTS of them; NULL: not used yet */
	struct cpci_symbol_addr *bp;	/* while bound, one per term; NULL: there are no symbols */
	pid_t target;			/* a thread of the process that has the symbols */
	uint_t tick_source;		/* CPCI_RAW_ENABLED or CPCI_RAW_RUNNING */
	cpu_set_t *affinity;		/* CPCI_CPU: the owner's affinity before the bind */
	size_t affinity_size;
	struct cpci_claim *claim; /* of CPUs; NULL: none is held */
	struct cpci_epoch epoch;  /* for LWPs, and CPUs that count for LWPs */
	LIST_ENTRY(cpc_set) entry;
};

struct cpc_buf {
	cpc_t *cpc;
	struct cpci_plan *plan;
	uint_t nreqs;
	hrtime_t hrtime;
	uint64_t tick;		    /* the cycles for which the set was on the hardware */
	uint64_t *raw;		    /* space for one read(2) of the largest group and one more */
	uint_t npcs;		    /* overflows in this sample */
	uint64_t nlost, nthrottled; /* since the bind */
	LIST_ENTRY(cpc_buf) entry;
	uint64_t val[];
};

struct cpc {
	cpc_errhndlr_t *errhndlr;
	uint_t npic, caps; /* npic 0: not determined yet */
	char cciname[128];
	struct cpci_clock clock;
	_Atomic(struct cpci_defs *) defs; /* NULL: not read yet */
	struct cpci_symfiles symfiles;
	LIST_HEAD(cpci_sets, cpc_set) sets;
	LIST_HEAD(cpci_bufs, cpc_buf) bufs;
	LIST_ENTRY(cpc) entry;
};

/* The size of the arrays of a bound set: a value per request, a file per term and one more. */
static inline size_t cpci_set_room(const struct cpci_plan *plan)
{
	return plan->nreqs * sizeof(uint64_t) + (plan->nterms + 1U) * sizeof(int);
}

/* ---- common.c ----------------------------------------------------------------- */

/* The definitions of events, read at the first call.  NULL: see `diag`. */
const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag);

/* Warns about errors in the event files of vendors, if they have been read; only once. */
void cpci_warn_vendor(cpc_t *cpc, const char *fn);

/* ---- set.c ---- */

/* Warns if an event is the user's definition that replaces another event. */
void cpci_warn_redefined(cpc_t *cpc, const char *fn, const struct cpci_event *event);

/* ---- ratio.c ---- */

/* Finds a ratio; `event`: the resolved name.  NULL: see `diag`. */
cpc_ratio_t *cpci_ratio_find(const struct cpci_defs *defs, const char *name,
			     struct cpci_event *event, struct cpci_diag *diag);

/* ---- error.c ------------------------------------------------------------------ */

/* Calls the error handler, sets errno, returns -1. */
int cpci_fail(cpc_t *cpc, const char *fn, const struct cpci_diag *diag);
__attribute__((format(printf, 5, 6))) int cpci_failf(cpc_t *cpc, const char *fn, int err,
						     int subcode, const char *fmt, ...);
int cpci_fail_nomem(cpc_t *cpc, const char *fn);
/* Passes a warning to the error handler. */
void cpci_warn(cpc_t *cpc, const char *fn, const char *text);

/* ---- sample.c ------------------------------------------------------------------- */

/* A sample of a set: space for one read(2) of its largest group, and a value per request. */
struct cpci_values {
	uint64_t *raw, *val;
	uint64_t tick;
	hrtime_t hrtime;
};

/* Samples a bound set.  -1 and the errno of cpc_set_sample().  Safe in signal handlers. */
int cpci_sample(cpc_set_t *set, struct cpci_values *sample);

/*
 * Adds the counts of a bound set to `val`, and the time for which it counted to `*ns`; `raw`
 * has space for the largest group.  Buffered overflows do not reduce the counts.  Any LWP may
 * call it; it holds the lock.  -1 and errno.
 */
int cpci_set_count(const cpc_set_t *set, uint64_t *raw, uint64_t *val, uint64_t *ns);

/* ---- info.c --------------------------------------------------------------------- */

/*
 * Calls the error handler and returns -1 for a request that the set lacks, or another handle.
 */
int cpci_check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, int index);

/* ---- pic.c ---------------------------------------------------------------------- */

/* Makes all pics of a set that is being unbound use the system call, which fails. */
void cpci_pics_cut(cpc_set_t *set);

/* ---- symbols.c ------------------------------------------------------------------ */

/*
 * Finds the addresses of the symbols of a set that is about to be bound; allocated.  NULL: no
 * request names a symbol.  The caller holds the lock.  -1: see `diag`.
 */
int cpci_symbols_make(cpc_set_t *set, struct cpci_target target, uint_t flags,
		      struct cpci_symbol_addr **bp, struct cpci_diag *diag);

/* ---- unbind.c ------------------------------------------------------------------- */

/* Unbinds a bound set.  The caller holds the lock. */
void cpci_unbind(struct cpc_set *set);
/* In a forked child: the counters belong to the parent. */
void cpci_unbind_inherited(struct cpc_set *set);

/* ---- link.c: references to a bound set--------------------------------------------- */

/*
 * A reference to a bound set for its LWP or the LWP's controller.  The set and the LWP share
 * it, and the last one frees it.
 */
struct cpci_link {
	_Atomic(cpc_set_t *) set; /* NULL: unbound */
	/* before the unbind it had lost its counters, or was invalidated */
	atomic_bool lost;
	atomic_bool in_use; /* a signal handler of the library is using the set */
	atomic_uint refs;
	void (*free)(struct cpci_link *); /* NULL: free(3) */
	void (*unbind)(cpc_set_t *);	  /* called when its LWP exits */
};

struct cpci_link *cpci_link_new(void); /* NULL: out of memory */
/*
 * Makes the library notice the exit of the calling LWP, before its first link.  -1 and errno.
 */
int cpci_link_prepare(void);
void cpci_link_drop(struct cpci_link *link);
/*
 * Hides the set from its LWP, and waits until its signal handler has left it; NULL: no
 * effect.
 */
void cpci_link_hide(struct cpci_link *link);
/* Removes all references to a set that is unbound. */
void cpci_link_cut(struct cpc_set *set);
/* The calling LWP's link; other TLS models allocate it at its first use. */
extern _Thread_local _Atomic(struct cpci_link *) cpci_link_mine
	__attribute__((tls_model("initial-exec")));

/* The set that the calling LWP bound to itself or to a CPU, or inherited; or NULL. */
static inline cpc_set_t *cpci_link_own(void)
{
	struct cpci_link *link = cpci_link_mine;

	return link != NULL ? link->set : NULL;
}

/* The calling LWP's copy of a set, or else the set itself. */
cpc_set_t *cpci_link_copy(const cpc_set_t *set);
/* Is it the calling LWP's link? */
bool cpci_link_is_own(const struct cpci_link *link);
/*
 * The calling LWP's link, in a signal handler that blocks all signals: until
 * cpci_link_leave() no other LWP frees the set.  NULL: the LWP has no link.
 */
static inline struct cpci_link *cpci_link_enter(void)
{
	struct cpci_link *link = cpci_link_mine;

	if (link != NULL)
		link->in_use = true;
	return link;
}

static inline void cpci_link_leave(struct cpci_link *link)
{
	link->in_use = false;
}

/* Replaces the link of the calling LWP, after cpci_link_prepare(). */
void cpci_link_set_own(struct cpci_link *link);

/* ---- signal.c: all but cpci_notice_prepare() are safe in signal handlers ---------- */

/* Reserves a private signal, and returns it.  0: none is free. */
int cpci_notice_prepare(void (*handler)(int sig, siginfo_t *info, void *context));
/* The private signal. */
int cpci_notice_sig(void);
/* Takes a pending signal of the calling LWP; keeps errno. */
bool cpci_signal_take(int sig, siginfo_t *info);
/* Makes that signal pending again. */
void cpci_signal_put_back(const siginfo_t *info);

/* SIGEMT for an LWP, complete except for the PC. */
struct cpci_emt {
	pid_t pid, lwp;
	siginfo_t info;
};

/* Prepares it for the calling LWP, which alone sends it, one at a time. */
void cpci_emt_init(struct cpci_emt *emt);
/* Sends it as if the code at `pc` had been interrupted. */
void cpci_emt_send(struct cpci_emt *emt, uint64_t pc);
/* Does both at once. */
void cpci_emt_send_once(uint64_t pc);

/* ---- overflow.c ------------------------------------------------------------------ */

/* The state of overflows of a set that is bound to its LWP. */
struct cpci_overflow *cpci_overflow_new(const struct cpci_plan *plan); /* NULL: out of memory */
void cpci_overflow_free(struct cpci_overflow *overflow);	       /* NULL: nothing */
/* Reserves a private signal, and returns it.  0: none is free. */
int cpci_overflow_prepare(void);
/* Makes the counters of a set that is being bound send signals.  -1 and errno. */
int cpci_overflow_notify(cpc_set_t *set);
/* Starts counting, until the first overflow.  -1 and errno. */
int cpci_overflow_start(cpc_set_t *set);
/* cpci_group_switch() for a set that reports overflows; a frozen set stays frozen. */
int cpci_overflow_switch(cpc_set_t *set, bool on);
/*
 * Starts an inherited set frozen: its requests that report overflows have the value
 * UINT64_MAX until cpc_set_restart().
 */
void cpci_overflow_hold(cpc_set_t *set);
/* Stops the signals of the set, if the caller is its LWP. */
void cpci_overflow_end(cpc_set_t *set);

/* ---- inherit.c -------------------------------------------------------------------- */

/* Makes the family of a set that is about to be bound with presets `start`.  NULL and errno. */
struct cpci_family *cpci_family_new(cpc_set_t *set, const uint64_t *start);
/* The caller holds the lock; NULL: no effect. */
void cpci_family_drop(struct cpci_family *family);
/* Ends all copies of the set.  The caller holds the lock. */
void cpci_family_end(cpc_set_t *set);
/* Ends a copy, in its LWP, and adds its counts to the sum.  The caller holds the lock. */
void cpci_copy_unbind(cpc_set_t *copy);
/* In a forked child: the copies belong to the parent. */
void cpci_copies_forget(void);

/* A copy for an LWP that the calling one is about to create; NULL: no set is inherited. */
struct cpci_copy *cpci_copy_new(void);
/* The LWP could not be created. */
void cpci_copy_cancel(struct cpci_copy *copy);
/* The LWP exists, but its copy cannot be passed to it. */
void cpci_copy_lose(struct cpci_copy *copy);
/* Starts the calling LWP's copy; the program's function at `pc` runs next. */
void cpci_copy_begin(struct cpci_copy *copy, void *pc);

/* ---- births.c ---------------------------------------------------------------------- */

/* Does the library see the threads that the program creates? */
bool cpci_births_seen(void);
/* ---- poller.c: the library's own thread ------------------------------------------- */

/*
 * Makes the poller call `ready` whenever the file of a ring buffer becomes readable.  Starts
 * the poller if necessary.  The caller holds the lock.  NULL and errno.
 */
struct cpci_watch *cpci_poller_watch(int fd, void (*ready)(void *arg), void *arg);
/* Ends these calls, and waits for a current one; the last call ends the poller. */
void cpci_poller_forget(struct cpci_watch *watch);
/* In a forked child, which has no poller. */
void cpci_poller_forked(void);

/* ---- pcbuf.c: buffered overflows of a bound set ------------------------------------ */

/* The contents of overflow records of a plan; 0: no overflows are buffered. */
uint64_t cpci_pcbuf_sample_type(const struct cpci_plan *plan);
/*
 * Makes open counters of the calling LWP write overflow records; the LWP gets signal `sig`
 * when it must look at them.  The ring buffer of an `inherited` set is smaller.  The caller
 * holds the lock.  NULL: see `diag`.
 */
struct cpci_pcbuf *cpci_pcbuf_open(const struct cpci_plan *plan, uint64_t sample_type,
				   const int *fd, int sig, bool inherited, struct cpci_diag *diag);
/* Runs in the LWP that got the signal: sends SIGEMT if it is due.  Safe in signal handlers. */
void cpci_pcbuf_notice(struct cpci_pcbuf *b);
/* Has SIGEMT been sent? */
bool cpci_pcbuf_signalled(const struct cpci_pcbuf *b);
/* Stops the poller's work on it. */
void cpci_pcbuf_stop(struct cpci_pcbuf *b);
void cpci_pcbuf_close(struct cpci_pcbuf *b); /* NULL: nothing */
/* Ends records of another LWP's ring buffer; `file` replaces its file. */
void cpci_pcbuf_cut(struct cpci_pcbuf *b, int file);
/* In a forked child, which has neither ring buffer nor poller. */
void cpci_pcbuf_forked(struct cpci_pcbuf *b);

/* An overflow of a term of the plan. */
struct cpci_overflow_record {
	struct cpci_record rec;
	uint_t term;
	uint64_t *frame; /* space for the call stack */
	uint32_t max_frames, nframes, nkernel;
};

/*
 * The next three only in the LWP of the set; safe in signal handlers.  Returns the end of
 * the existing records.
 */
uint32_t cpci_pcbuf_begin(struct cpci_pcbuf *b);
/* Takes the oldest overflow before `end`; false: none. */
bool cpci_pcbuf_take(struct cpci_pcbuf *b, uint32_t end, struct cpci_overflow_record *ovf);
/* Call it after the last one.  -1: EBADMSG, the program wrote into the ring buffer. */
int cpci_pcbuf_end(struct cpci_pcbuf *b);
/* Counts the remaining records as lost. */
void cpci_pcbuf_abandon(struct cpci_pcbuf *b);
uint64_t cpci_pcbuf_lost(const struct cpci_pcbuf *b);
uint64_t cpci_pcbuf_throttled(const struct cpci_pcbuf *b);
bool cpci_pcbuf_has_stacks(const struct cpci_pcbuf *b);

/* ---- enable.c -------------------------------------------------------------------- */

/*
 * Lets the LWP that a set was bound to by cpc_bind_pctx() switch it with cpc_enable() and
 * cpc_disable().  -1 and errno.
 */
int cpci_answer_lwp(pctx_t *pctx, id_t lwp, struct cpci_link *link);

#endif /* CPCI_SET_H */
