/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * set.h - handles, sets and buffers: what the public calls work on.
 */
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
	CPCI_CPU,	 /* and the LWP that bound it is put on that CPU */
	CPCI_CPU_REMOTE, /* the LWP is left where it is */
};

#define CPCI_MAX_REQUESTS 64 /* of a set */

struct cpc_set {
	cpc_t *cpc;
	cpc_set_t *origin; /* of which it is an inherited copy; itself: none */
	struct cpci_plan *plan;
	uint64_t *preset;		/* one per request, the values at the next bind */
	uint64_t *start;		/* those of the last bind; the files are behind them */
	_Atomic(enum cpci_bound) bound; /* its LWP looks without the lock */
	bool off;			/* it does not count for now */
	bool lwps;		/* of a CPU, and it counts for LWPs: see CPC_BIND_CPU_LWPS */
	pid_t owner;		/* CPCI_LWP, CPCI_CPU: the thread that bound it */
	struct cpci_link *link; /* to who can switch it or unbind it: see link.c */
	struct cpci_overflow *overflow; /* while bound; NULL: not CPCI_LWP */
	struct cpci_pcbuf *pcbuf;	/* while bound; NULL: no overflows are buffered */
	struct cpci_family *family;	/* while bound; NULL: nobody inherits it */
	int err;			/* why it could have no counters, if it is a copy, ... */
	char *why;			/* ...in words; NULL: those of the error */
	int *fd;			/* one per term and a witness while bound, or NULL */
	void **page;	     /* what the kernel maps for each; NULL: only read(2) reads them */
	struct cpc_pic *pic; /* CPCI_MAX_REQUESTS, read one by one; NULL: nobody asked */
	struct cpci_symbol_addr *bp; /* while bound, one per term; NULL: there are no symbols */
	pid_t target;		     /* the thread whose process they are in */
	uint_t tick_source;	     /* CPCI_RAW_ENABLED or CPCI_RAW_RUNNING */
	uint64_t enabled_ns;	     /* CPUs: the time enabled at the last sample */
	cpu_set_t *affinity;	     /* CPCI_CPU: where the owner ran before */
	size_t affinity_size;
	struct cpci_claim *claim; /* CPUs; NULL: none, shared, or not needed */
	struct cpci_epoch epoch;  /* LWPs, and CPUs for them */
	LIST_ENTRY(cpc_set) entry;
};

struct cpc_buf {
	cpc_t *cpc;
	struct cpci_plan *plan;
	uint_t nreqs;
	hrtime_t hrtime;
	uint64_t tick;		    /* cycles that the set was on the hardware */
	uint64_t *raw;		    /* room for one read(2) of the largest group */
	uint_t npcs;		    /* overflows that came with the sample */
	uint64_t nlost, nthrottled; /* since the set was bound */
	LIST_ENTRY(cpc_buf) entry;
	uint64_t val[];
};

struct cpc {
	cpc_errhndlr_t *errhndlr;
	uint_t npic, caps; /* npic 0: what the machine has is not known yet */
	char cciname[128];
	struct cpci_clock clock;
	_Atomic(struct cpci_defs *) defs; /* NULL: not read yet */
	struct cpci_symfiles symfiles;
	LIST_HEAD(cpci_sets, cpc_set) sets;
	LIST_HEAD(cpci_bufs, cpc_buf) bufs;
	LIST_ENTRY(cpc) entry;
};

/* What a bound set has in one piece: a value per request, a file per term and a witness. */
static inline size_t cpci_set_room(const struct cpci_plan *plan)
{
	return plan->nreqs * sizeof(uint64_t) + (plan->nterms + 1U) * sizeof(int);
}

/* ---- common.c ----------------------------------------------------------------- */

/* The definitions of events, read when first asked for.  NULL: see `diag`. */
const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag);

/* What is wrong in the event files of vendors, if they were read; once. */
void cpci_tell_vendor(cpc_t *cpc, const char *fn);

/* ---- set.c ---- */

/* Using a definition of the user's that replaces another event gives a warning. */
void cpci_tell_redefined(cpc_t *cpc, const char *fn, const struct cpci_event *event);

/* ---- ratio.c ---- */

/* The ratio of that name; `event`: what the name stood for.  NULL: see `diag`. */
cpc_ratio_t *cpci_ratio_find(const struct cpci_defs *defs, const char *name,
			     struct cpci_event *event, struct cpci_diag *diag);

/* ---- error.c ------------------------------------------------------------------ */

/* Tells the error handler, sets errno, returns -1. */
int cpci_fail(cpc_t *cpc, const char *fn, const struct cpci_diag *diag);
__attribute__((format(printf, 5, 6))) int cpci_failf(cpc_t *cpc, const char *fn, int err,
						     int subcode, const char *fmt, ...);
int cpci_fail_nomem(cpc_t *cpc, const char *fn);
/* Tells the error handler of what does not make the call fail. */
void cpci_warn(cpc_t *cpc, const char *fn, const char *text);

/* ---- sample.c ------------------------------------------------------------------- */

/* A sample of a set: room for one read(2) of its largest group, a value per request, ... */
struct cpci_values {
	uint64_t *raw, *val;
	uint64_t tick;
	hrtime_t hrtime;
};

/* Of a bound set.  -1 and the errno of cpc_set_sample().  Safe in signal handlers. */
int cpci_sample(cpc_set_t *set, struct cpci_values *sample);

/*
 * Adds the counts of a bound set to `val`, and the time for which it counted to `*ns`; `raw`
 * has room for the largest group.  Overflows that were buffered are no less counted.  By any
 * LWP, with the lock held.  -1 and errno.
 */
int cpci_set_count(const cpc_set_t *set, uint64_t *raw, uint64_t *val, uint64_t *ns);

/* ---- info.c --------------------------------------------------------------------- */

/* -1, and the error handler was told: not a request of that set, or not of that handle. */
int cpci_check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, int index);

/* ---- pic.c ---------------------------------------------------------------------- */

/* Of a set that is being unbound: they are read by a system call from now on, which fails. */
void cpci_pics_cut(cpc_set_t *set);

/* ---- symbols.c ------------------------------------------------------------------ */

/*
 * The addresses of the symbols of a set that is to be bound, allocated; NULL when no
 * request names a symbol.  With the lock held.  -1: see `diag`.
 */
int cpci_symbols_make(cpc_set_t *set, struct cpci_target target, uint_t flags,
		      struct cpci_symbol_addr **bp, struct cpci_diag *diag);

/* ---- unbind.c ------------------------------------------------------------------- */

/* With the lock held, of a set that is bound. */
void cpci_unbind(struct cpc_set *set);
/* In a forked child: the parent's counters are its alone. */
void cpci_unbind_inherited(struct cpc_set *set);

/* ---- link.c: who else knows a set ------------------------------------------------- */

/*
 * A set that is bound, as its LWP or its LWP's controller knows it.  Both share it, and it
 * goes with the later of the two.
 */
struct cpci_link {
	_Atomic(cpc_set_t *) set; /* NULL: unbound */
	atomic_bool lost;	  /* before that, it lost its counters or was invalidated */
	atomic_bool in_use;	  /* a signal handler of the library is at work on the set */
	atomic_uint refs;
	void (*free)(struct cpci_link *); /* NULL: free(3) */
	void (*unbind)(cpc_set_t *);	  /* called when its LWP ends */
};

struct cpci_link *cpci_link_new(void); /* NULL: out of memory */
/* Has the library see the end of the calling LWP, which is to have a link.  -1 and errno. */
int cpci_link_prepare(void);
void cpci_link_drop(struct cpci_link *link);
/* Its LWP no longer finds the set, and its signal handler is out of it; NULL: nothing. */
void cpci_link_hide(struct cpci_link *link);
/* Unbound, a set is known to nobody any more. */
void cpci_link_cut(struct cpc_set *set);
/* The calling LWP's; of this model because others are allocated at their first use. */
extern _Thread_local _Atomic(struct cpci_link *) cpci_link_mine
	__attribute__((tls_model("initial-exec")));

/* The set that the calling LWP bound to itself or to a CPU, or inherited; or NULL. */
static inline cpc_set_t *cpci_link_own(void)
{
	struct cpci_link *link = cpci_link_mine;

	return link != NULL ? link->set : NULL;
}

/* The calling LWP's copy of a set, or the set itself. */
cpc_set_t *cpci_link_copy(const cpc_set_t *set);
/* Is it the calling LWP's link? */
bool cpci_link_is_own(const struct cpci_link *link);
/*
 * The same in a signal handler that nothing interrupts: until the link is left, no other LWP
 * takes the set apart.  NULL: the LWP has no link.
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

/* Takes the place of the one before, after cpci_link_prepare(). */
void cpci_link_set_own(struct cpci_link *link);

/* ---- signal.c: all but cpci_notice_prepare() are safe in signal handlers ---------- */

/* Takes a signal for the library's own use, and returns it.  0: none is free. */
int cpci_notice_prepare(void (*handler)(int sig, siginfo_t *info, void *context));
/* The signal that was taken. */
int cpci_notice_sig(void);
/* Takes a signal of the calling LWP that is pending; errno stays. */
bool cpci_signal_take(int sig, siginfo_t *info);
/* And has it pending again. */
void cpci_signal_put_back(const siginfo_t *info);

/* SIGEMT for an LWP, all but the PC. */
struct cpci_emt {
	pid_t pid, lwp;
	siginfo_t info;
};

/* For the calling LWP, which alone sends it, one at a time. */
void cpci_emt_init(struct cpci_emt *emt);
/* As if the code at `pc` had been interrupted. */
void cpci_emt_send(struct cpci_emt *emt, uint64_t pc);
/* Both at once. */
void cpci_emt_send_once(uint64_t pc);

/* ---- overflow.c ------------------------------------------------------------------ */

/* How a set that is bound to its LWP is restarted, and how it stands with its overflows. */
struct cpci_overflow *cpci_overflow_new(const struct cpci_plan *plan); /* NULL: out of memory */
void cpci_overflow_free(struct cpci_overflow *overflow);	       /* NULL: nothing */
/* Takes a signal for the library's own use, and returns it.  0: none is free. */
int cpci_overflow_prepare(void);
/* Has the counters of a set that is being bound send signals.  -1 and errno. */
int cpci_overflow_notify(cpc_set_t *set);
/* Starts counting, up to the first overflow.  -1 and errno. */
int cpci_overflow_start(cpc_set_t *set);
/* cpci_group_switch() of a set that tells overflows; frozen, it stays so. */
int cpci_overflow_switch(cpc_set_t *set, bool on);
/*
 * An inherited set does not start: it is frozen, and its requests that tell have the value
 * UINT64_MAX, until cpc_set_restart().
 */
void cpci_overflow_hold(cpc_set_t *set);
/* No signal of it comes any more, if its LWP is the caller. */
void cpci_overflow_end(cpc_set_t *set);

/* ---- inherit.c -------------------------------------------------------------------- */

/* For a set that is to be bound, with presets `start`.  NULL and errno. */
struct cpci_family *cpci_family_new(cpc_set_t *set, const uint64_t *start);
/* With the lock held; NULL: nothing. */
void cpci_family_drop(struct cpci_family *family);
/* With the lock held: nobody has copies of the set any more. */
void cpci_family_end(cpc_set_t *set);
/* With the lock held, of a copy, by its LWP: it ends, and what it counted stays in the sum. */
void cpci_copy_unbind(cpc_set_t *copy);
/* In a forked child: the copies are its parent's. */
void cpci_copies_forget(void);

/* A copy for an LWP that the calling one is about to create; NULL: it inherits none. */
struct cpci_copy *cpci_copy_new(void);
/* There will be no such LWP. */
void cpci_copy_cancel(struct cpci_copy *copy);
/* Or it is there, but cannot be told of its copy. */
void cpci_copy_lose(struct cpci_copy *copy);
/* It is the caller, and about to run the program's function at `pc`. */
void cpci_copy_begin(struct cpci_copy *copy, void *pc);

/* ---- births.c ---------------------------------------------------------------------- */

/* Does the library see the threads that the program creates? */
bool cpci_births_seen(void);
/* ---- poller.c: the library's own thread ------------------------------------------- */

/*
 * From now on the poller calls `ready` each time that a ring's file becomes readable.  Starts
 * the poller if need be.  With the lock held.  NULL and errno.
 */
struct cpci_watch *cpci_poller_watch(int fd, void (*ready)(void *arg), void *arg);
/* Not any more, also not right now; ends the poller after the last one. */
void cpci_poller_forget(struct cpci_watch *watch);
/* In a forked child, which has no poller. */
void cpci_poller_forked(void);

/* ---- pcbuf.c: buffered overflows of a bound set ------------------------------------ */

/* What is to be told of the overflows of a plan; 0: none are buffered. */
uint64_t cpci_pcbuf_sample_type(const struct cpci_plan *plan);
/*
 * Has counters of the calling LWP that are open write that of their overflows; it gets
 * signal `sig` when it is to look at them.  One of many that are `inherited` is smaller.
 * With the lock held.  NULL: see `diag`.
 */
struct cpci_pcbuf *cpci_pcbuf_open(const struct cpci_plan *plan, uint64_t sample_type,
				   const int *fd, int sig, bool inherited, struct cpci_diag *diag);
/* In the LWP, which got the signal: sends SIGEMT if that is due.  Safe in signal handlers. */
void cpci_pcbuf_notice(struct cpci_pcbuf *b);
/* Has SIGEMT been sent? */
bool cpci_pcbuf_told(const struct cpci_pcbuf *b);
/* The poller looks at it no more. */
void cpci_pcbuf_stop(struct cpci_pcbuf *b);
void cpci_pcbuf_close(struct cpci_pcbuf *b); /* NULL: nothing */
/* In another LWP: it gets no more records.  `file` takes the place of its own. */
void cpci_pcbuf_cut(struct cpci_pcbuf *b, int file);
/* In a forked child, which has neither ring nor poller. */
void cpci_pcbuf_forked(struct cpci_pcbuf *b);

/* An overflow, of a term of the plan. */
struct cpci_overflow_record {
	struct cpci_record rec;
	uint_t term;
	uint64_t *frame; /* to hold the call stack */
	uint32_t max_frames, nframes, nkernel;
};

/* All of these in the LWP of the set, safe in signal handlers: the end of what is there... */
uint32_t cpci_pcbuf_begin(struct cpci_pcbuf *b);
/* ...the oldest overflow before that; false: there is none... */
bool cpci_pcbuf_take(struct cpci_pcbuf *b, uint32_t end, struct cpci_overflow_record *ovf);
/* ...and after the last one.  -1: EBADMSG, the program wrote into the ring. */
int cpci_pcbuf_end(struct cpci_pcbuf *b);
/* Nobody will take what is left: it is lost, too. */
void cpci_pcbuf_abandon(struct cpci_pcbuf *b);
uint64_t cpci_pcbuf_lost(const struct cpci_pcbuf *b);
uint64_t cpci_pcbuf_throttled(const struct cpci_pcbuf *b);
bool cpci_pcbuf_has_stacks(const struct cpci_pcbuf *b);

/* ---- enable.c -------------------------------------------------------------------- */

/*
 * From now on, the LWP that a set was bound to by cpc_bind_pctx() may switch it with
 * cpc_enable() and cpc_disable().  -1 and errno.
 */
int cpci_answer_lwp(pctx_t *pctx, id_t lwp, struct cpci_link *link);

#endif /* CPCI_SET_H */
