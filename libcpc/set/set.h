/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * set.h - handles, sets and buffers: the objects of the public calls.
 *
 * Each file below calls functions of files above it only; docs/layers.md has the picture.
 */
#ifndef CPCI_SET_H
#define CPCI_SET_H

#include "../../known/known.h"
#include "../claim/claim.h"
#include "../explain/explain.h"
#include "../symbol/symbol.h"

#include <cpc_pic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* What a set is bound to. */
enum cpci_bound {
	CPCI_UNBOUND,
	CPCI_LWP,	 /* by cpc_bind_curlwp(): the LWP that bound it */
	CPCI_PCTX,	 /* by cpc_bind_pctx(): an LWP of a controlled process */
	CPCI_CPU,	 /* the LWP that bound it is moved to that CPU */
	CPCI_CPU_REMOTE, /* the LWP that bound it is not moved */
};

#define CPCI_MAX_REQUESTS 64	       /* of a set */
#define CPCI_AFFINITY_SIZE (65536 / 8) /* more CPUs than any kernel supports */

struct cpc_set {
	cpc_t *cpc;
	cpc_set_t *origin; /* the set that the program knows: of a copy or twin that; else itself */
	bool copy;	   /* an LWP has inherited it: see inherit.c */
	struct cpci_plan *plan;
	uint64_t *preset;		/* per request: the value to start from at the next bind */
	uint64_t *start;		/* the presets of the last bind; followed by the files */
	_Atomic(enum cpci_bound) bound; /* its LWP reads it without the lock */
	bool off;			/* switched off */
	bool lwps;		/* bound to a CPU but counts for LWPs: see CPC_BIND_CPU_LWPS */
	pid_t owner;		/* CPCI_LWP, CPCI_CPU: the thread that bound it */
	pctx_t *pctx;		/* CPCI_PCTX: the handle of the LWP's process, or a former one */
	struct cpci_link *link; /* how its LWP and its controller find it; NULL: they cannot */
	struct cpci_overflow *overflow; /* while bound; NULL: not CPCI_LWP */
	struct cpci_pcbuf *pcbuf;	/* while bound; NULL: no overflows are buffered */
	struct cpci_family *family;	/* while bound; NULL: not inheritable */
	int err;			/* of a copy: the errno of why it has no counters; or 0 */
	char *why;			/* the reason as a message; NULL: strerror(err) */
	int *fd;			/* while bound: a file per term and one more; or NULL */
	void **page;			/* the mapped page of each event; NULL: use read(2) */
	struct cpc_pic *pic;		/* CPCI_MAX_REQUESTS of them; NULL: not used yet */
	struct cpci_symbol_addr *bp;	/* while bound, one per term; NULL: there are no symbols */
	pid_t target;			/* a thread of the process that has the symbols */
	uint_t tick_source;		/* CPCI_RAW_ENABLED or CPCI_RAW_RUNNING */
	cpu_set_t *affinity; /* CPCI_CPU: the owner's CPUs before the bind (CPCI_AFFINITY_SIZE) */
	struct cpci_claim *claim; /* of CPUs; NULL: none is held */
	struct cpci_epoch epoch;  /* of a set that counts LWPs: a claim of a CPU ends it */
	LIST_HEAD(, cpc_set)
	twins; /* with which other LWPs have bound it to themselves: see twin.c */
	LIST_ENTRY(cpc_set) entry;
};

struct cpc_buf {
	cpc_t *cpc;
	struct cpci_plan *plan;
	uint_t nreqs;
	hrtime_t hrtime;
	uint64_t tick; /* the cycles for which the set was on the hardware */
	uint64_t *raw; /* space for a read(2) of the largest group, and one value more */
	uint_t npcs;   /* overflows in this sample */
	uint64_t nlost, nthrottled; /* counted since the bind */
	LIST_ENTRY(cpc_buf) entry;
	uint64_t val[];
};

struct cpc {
	cpc_errhndlr_t *errhndlr;
	uint_t npic, caps; /* npic 0: not determined yet */
	char cciname[128];
	struct cpci_clock clock;
	_Atomic(struct cpci_defs *) defs;     /* NULL: not read yet */
	_Atomic(struct cpci_walked *) walked; /* see walk.c */
	struct cpci_symfiles symfiles;
	LIST_HEAD(cpci_sets, cpc_set) sets;
	LIST_HEAD(cpci_bufs, cpc_buf) bufs;
	LIST_ENTRY(cpc) entry;
};

/* The size of `start` and `fd` together: a value per request, a file per term and one more. */
static inline size_t cpci_set_room(const struct cpci_plan *plan)
{
	return plan->nreqs * sizeof(uint64_t) + (plan->nterms + 1U) * sizeof(int);
}

/* The number of values of `raw`: a read(2) of the largest group, and one value more. */
static inline size_t cpci_raw_size(const struct cpci_plan *plan)
{
	return CPCI_RAW_VALUES + plan->nterms + 1U;
}

/* ---- error.c ------------------------------------------------------------------------------ */

/* Calls the error handler, sets errno, returns -1. */
int cpci_fail(cpc_t *cpc, const char *fn, const struct cpci_diag *diag);
__attribute__((format(printf, 5, 6))) int cpci_failf(cpc_t *cpc, const char *fn, int err,
						     int subcode, const char *fmt, ...);
int cpci_fail_nomem(cpc_t *cpc, const char *fn);
/* Passes a warning to the error handler. */
void cpci_warn(cpc_t *cpc, const char *fn, const char *text);

/* ---- valid.c: what exists; nothing is read of a pointer that is not known ------------------- */

#pragma GCC visibility push(hidden) /* a direct address: lookups are frequent */
extern struct known cpci_known_handles, cpci_known_sets, cpci_known_bufs, cpci_known_ratios;
#pragma GCC visibility pop

/* 0; or -1 and EINVAL: it is not a handle. */
static inline int cpci_check_handle(const cpc_t *cpc)
{
	return known_has(&cpci_known_handles, cpc) ? 0 : cpci_errno(EINVAL);
}

/* Is it a set of this handle, which then exists, too?  Safe in signal handlers, like the next. */
static inline bool cpci_is_set(const cpc_t *cpc, const cpc_set_t *set)
{
	return known_has(&cpci_known_sets, set) && set->cpc == cpc;
}

static inline bool cpci_is_buf(const cpc_t *cpc, const cpc_buf_t *buf)
{
	return known_has(&cpci_known_bufs, buf) && buf->cpc == cpc;
}

/* Refuses a pointer that is not a `what` of this handle.  Returns -1 and EINVAL. */
int cpci_refuse(cpc_t *cpc, const char *fn, const void *p, const char *what);
/* Refuses a set that is not of this handle.  0, or -1 and EINVAL. */
int cpci_check_set(cpc_t *cpc, const char *fn, const cpc_set_t *set);
/* The calling LWP's copy of a set, or the set.  NULL and EINVAL: see above, or it is not bound. */
cpc_set_t *cpci_bound_set(cpc_t *cpc, const char *fn, const cpc_set_t *set);

/* ---- handle_defs.c ------------------------------------------------------------------------ */

/* The definitions of events, read at the first call.  NULL: see `diag`. */
const struct cpci_defs *cpci_defs(cpc_t *cpc, const char *fn, struct cpci_diag *diag);
/* Warns once about errors in the event files of vendors, if an event needed these files. */
void cpci_warn_vendor(cpc_t *cpc, const char *fn);
/* Warns once if the event is a definition of the user that replaces an event of that name. */
void cpci_warn_redefined(cpc_t *cpc, const char *fn, const struct cpci_event *event);
/* Warns once for each name if some kinds of cores lack the event. */
void cpci_warn_kinds(cpc_t *cpc, const char *fn, const char *name, const struct cpci_event *event);

/* ---- walk.c ------------------------------------------------------------------------------- */

/* What the walkers of Solaris have found for a handle, by slot. */
struct cpci_walked;
void cpci_walked_free(struct cpci_walked *w);

/* ---- ratio.c ------------------------------------------------------------------------------ */

/* Makes the ratio of a definition; `event` is what the name resolves to.  NULL: see `diag`. */
cpc_ratio_t *cpci_ratio_find(const struct cpci_defs *defs, const char *name,
			     struct cpci_event *event, struct cpci_diag *diag);

/* ---- request.c ---------------------------------------------------------------------------- */

/* Refuses a set of another handle, and an index without a request.  0, or -1 and EINVAL. */
int cpci_check_request(cpc_t *cpc, const char *fn, const cpc_set_t *set, int index);
/* Are there several kinds of cores, and does the event belong to one or more of them? */
bool cpci_is_of_kinds(const struct cpci_event *event);

/* ---- symbols.c ---------------------------------------------------------------------------- */

/*
 * Finds the addresses of the symbols of a set that is about to be bound.  Sets `*bp` to an array
 * to free, also on errors, or to NULL if no request names a symbol.  The caller holds the lock.
 * -1: see `diag`.
 */
int cpci_symbols_make(cpc_set_t *set, struct cpci_target target, uint_t flags,
		      struct cpci_symbol_addr **bp, struct cpci_diag *diag);

/* ---- link.c: the set of an LWP ------------------------------------------------------------ */

/*
 * How an LWP finds the set that counts it, or the controller of an LWP the set that counts that
 * LWP.  The set, the LWP and the controller share the link; the last one to drop it frees it.
 */
struct cpci_link {
	_Atomic(cpc_set_t *) set; /* NULL: it has been unbound */
	atomic_bool lost;	  /* a sample found the set invalid, or its counters lost */
	/* a signal handler of its LWP, with all signals blocked, uses the set: do not free it */
	atomic_bool in_use;
	atomic_uint refs;
	void (*free)(struct cpci_link *); /* frees what contains the link; NULL: free(3) */
};

struct cpci_link *cpci_link_new(void); /* NULL: out of memory */
void cpci_link_drop(struct cpci_link *link);
/*
 * Hides the set from its LWP, and waits until that LWP's signal handler uses it no longer.  NULL:
 * nothing.
 */
void cpci_link_hide(struct cpci_link *link);
/*
 * The calling LWP's link.  Signal handlers read it: with other TLS models its first use could
 * allocate memory.
 */
extern _Thread_local _Atomic(struct cpci_link *) cpci_link_mine
	__attribute__((tls_model("initial-exec")));

/* The set that the calling LWP bound to itself or to a CPU, or inherited; or NULL. */
static inline cpc_set_t *cpci_link_own(void)
{
	struct cpci_link *link = cpci_link_mine;

	return link != NULL ? link->set : NULL;
}

/* Has the LWP that bound it to itself ended?  Then it is bound for those that inherited it. */
static inline bool cpci_owner_is_gone(const cpc_set_t *set)
{
	return set->link->refs == 1;
}

/* Does any LWP have it bound?  The caller holds the lock. */
static inline bool cpci_is_bound(const cpc_set_t *set)
{
	const cpc_set_t *twin;

	LIST_FOREACH(twin, &set->twins, entry) {
		if (twin->bound != CPCI_UNBOUND)
			return true;
	}
	return set->bound != CPCI_UNBOUND;
}

/* The calling LWP's copy or twin of a set; if it has none, the set itself. */
cpc_set_t *cpci_link_copy(const cpc_set_t *set);
/*
 * The same for a public call, which reads nothing of a pointer that is not a set of this handle:
 * NULL.  Safe in signal handlers.  The calling LWP's own set needs no lookup.
 */
static inline cpc_set_t *cpci_own_or_set(const cpc_t *cpc, cpc_set_t *set)
{
	cpc_set_t *own = cpci_link_own();

	if (own != NULL && own->origin == set)
		return own->cpc == cpc ? own : NULL;
	return cpci_is_set(cpc, set) ? set : NULL;
}
/* Replaces the link of the calling LWP.  Call cpci_unbind_at_exit() before. */
void cpci_link_set_own(struct cpci_link *link);

/* ---- signal.c: all but cpci_notice_prepare() are safe in signal handlers ------------------ */

/* Reserves the private signal, if it is not reserved yet, and returns it.  0: none is free. */
int cpci_notice_prepare(void (*handler)(int sig, siginfo_t *info, void *context));
/* The private signal; 0: not reserved yet. */
int cpci_notice_sig(void);
/* Takes a pending signal of the calling LWP; keeps errno. */
bool cpci_signal_take(int sig, siginfo_t *info);
/* Makes a signal that was taken pending again. */
void cpci_signal_put_back(const siginfo_t *info);

/* A SIGEMT for an LWP, complete except for the PC. */
struct cpci_emt {
	pid_t pid, lwp;
	siginfo_t info;
};

/* Prepares a SIGEMT for the calling LWP.  Only that LWP sends it; it may send it repeatedly. */
void cpci_emt_init(struct cpci_emt *emt);
/* Sends it as if the code at `pc` had been interrupted. */
void cpci_emt_send(struct cpci_emt *emt, uint64_t pc);
/* Prepares and sends a SIGEMT for the calling LWP. */
void cpci_emt_send_once(uint64_t pc);

/* ---- poller.c: the library's own thread --------------------------------------------------- */

/* A ring buffer and the LWP that gets the private signal whenever its file becomes readable. */
struct cpci_watch {
	int fd;
	pid_t lwp;
	atomic_bool noticing; /* a signal was sent and not delivered yet: send no other */
	bool live;	      /* from cpci_poller_watch() until cpci_poller_forget() */
	LIST_ENTRY(cpci_watch) entry;
};

/*
 * Starts watching a ring buffer; the first watch starts the poller.  The caller of both functions
 * holds the lock.  -1 and errno.
 */
int cpci_poller_watch(struct cpci_watch *watch);
/* Stops watching it; the last one stops the poller. */
void cpci_poller_forget(struct cpci_watch *watch);
/* In a forked child, which has no poller. */
void cpci_poller_forked(void);

/* ---- pcbuf.c: buffered overflows of a bound set ------------------------------------------- */

/* The contents of overflow records of a plan; 0: no overflows are buffered. */
uint64_t cpci_pcbuf_sample_type(const struct cpci_plan *plan);
/*
 * Makes open counters of the calling LWP write overflow records; the LWP gets the private signal
 * when it must look at them.  The ring buffer of an `inherited` set is smaller.  The caller
 * holds the lock.  NULL: see `diag`.
 */
struct cpci_pcbuf *cpci_pcbuf_open(const struct cpci_plan *plan, const int *fd, bool inherited,
				   struct cpci_diag *diag);
/* Runs in the LWP that got the signal: sends SIGEMT if it is due.  Safe in signal handlers. */
void cpci_pcbuf_notice(struct cpci_pcbuf *b);
/* Has a SIGEMT been sent since the bind? */
bool cpci_pcbuf_signalled(const struct cpci_pcbuf *b);
/* Stops the poller's signals. */
void cpci_pcbuf_stop(struct cpci_pcbuf *b);
void cpci_pcbuf_close(struct cpci_pcbuf *b); /* NULL: nothing */
/*
 * Makes the ring buffer of another LWP get no more records.  Its file number, which that LWP may
 * be using, becomes a duplicate of `file`.
 */
void cpci_pcbuf_revoke(struct cpci_pcbuf *b, int file);
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
 * Taking overflows out of the ring buffer: begin, take until false, end.  Only the set's LWP may
 * do so, also in signal handlers.
 */
/* Returns the end of the records that have been written. */
uint32_t cpci_pcbuf_begin(struct cpci_pcbuf *b);
/* Takes the oldest overflow before `end`.  False: none is left. */
bool cpci_pcbuf_take(struct cpci_pcbuf *b, uint32_t end, struct cpci_overflow_record *ovf);
/* -1: EBADMSG, the program wrote into the ring buffer. */
int cpci_pcbuf_end(struct cpci_pcbuf *b);
/* Takes all overflows, and counts them as lost. */
void cpci_pcbuf_abandon(struct cpci_pcbuf *b);
/* Adds how many overflows were lost, and how often counters were throttled.  NULL: nothing. */
void cpci_pcbuf_add_losses(const struct cpci_pcbuf *b, uint64_t *nlost, uint64_t *nthrottled);
bool cpci_pcbuf_has_stacks(const struct cpci_pcbuf *b);

/* ---- sample.c ----------------------------------------------------------------------------- */

/* A sample of a set. */
struct cpci_values {
	uint64_t *raw; /* space, as in cpc_buf */
	uint64_t *val; /* per request */
	uint64_t tick;
	hrtime_t hrtime;
};

/* Samples a bound set.  -1 and the errno of cpc_set_sample().  Safe in signal handlers. */
int cpci_sample(cpc_set_t *set, struct cpci_values *sample);
/*
 * As cpc_set_sample(); returns the set that was sampled, the calling LWP's copy where it has one.
 * NULL and errno.
 */
cpc_set_t *cpci_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf);

/*
 * Adds the counts of a bound set to `val`, and the time for which it counted to `*ns`.  Unlike in a
 * sample, the counts do not restart from the preset after buffered overflows.  `raw` is space for
 * a read(2) of the largest group.  Any LWP may call it if it holds the lock.  -1 and errno.
 */
int cpci_set_count(const cpc_set_t *set, uint64_t *raw, uint64_t *val, uint64_t *ns);

/* ---- overflow.c --------------------------------------------------------------------------- */

/* The state of overflows of a set that is bound to an LWP, for free(3).  NULL: out of memory. */
struct cpci_overflow *cpci_overflow_new(const struct cpci_plan *plan);
/* Reserves the private signal, and returns it.  0: none is free. */
int cpci_overflow_prepare(void);
/* Makes the counters of a set that is being bound send signals.  -1 and errno. */
int cpci_overflow_notify(cpc_set_t *set);
/* Starts counting; the next overflow freezes the set.  -1 and errno. */
int cpci_overflow_start(cpc_set_t *set);
/* cpci_group_switch() for a set that reports overflows; a frozen set stays frozen. */
int cpci_overflow_switch(cpc_set_t *set, bool on);
/*
 * Freezes an inherited copy that has not started, until its LWP restarts it.  In a sample, requests
 * that report overflows have the value UINT64_MAX until then.
 */
void cpci_overflow_hold(cpc_set_t *set);
/*
 * The first step of unbinding any set: marks it as unbound, hides it from its LWP, and stops its
 * counters; those of a controlled LWP are stopped by closing them.  If the caller is its LWP,
 * discards pending signals of its overflows.
 */
void cpci_set_stop(cpc_set_t *set);

/* ---- pic.c -------------------------------------------------------------------------------- */

/* Unmaps the counters of all pics of a set that is being unbound: cpc_pic_sample() will fail. */
void cpci_pics_unmap(cpc_set_t *set);

/* ---- enable.c ----------------------------------------------------------------------------- */

/* Lets the LWP of a set bound by cpc_bind_pctx() switch it with cpc_enable().  -1 and errno. */
int cpci_answer_lwp(pctx_t *pctx, id_t lwp, struct cpci_link *link);

/* ---- inherit.c: a family is a set and the copies of it that other LWPs inherited ----------- */

/* Makes the family of a set that is about to be bound.  NULL and errno. */
struct cpci_family *cpci_family_new(const cpc_set_t *set);
/* The caller of the next four functions holds the lock. */
void cpci_family_drop(struct cpci_family *family); /* NULL: nothing */
/* Are there no copies?  NULL: none. */
bool cpci_family_is_alone(const struct cpci_family *family);
/* Unbinds all copies of a set that is being unbound. */
void cpci_family_end(cpc_set_t *set);
/* Unbinds a copy, in its LWP, and adds its counts to the sum of the family. */
void cpci_copy_unbind(cpc_set_t *copy);
/* In a forked child: the copies belong to the parent. */
void cpci_copies_forget(void);

/* Makes a copy for an LWP that the calling one is about to create; NULL: no set is inherited. */
struct cpci_copy *cpci_copy_new(void);
/* Frees a copy whose LWP could not be created, or that its LWP no longer needs. */
void cpci_copy_cancel(struct cpci_copy *copy);
/* Frees a copy that cannot be passed to its LWP; the counts of that LWP will be missing. */
void cpci_copy_lose(struct cpci_copy *copy);
/*
 * Starts the calling LWP's copy, right before the program's function at `pc`.  `err` is the errno
 * of cpci_unbind_at_exit(), or 0.
 */
void cpci_copy_begin(struct cpci_copy *copy, int err, void *pc);

/* ---- unbind.c ----------------------------------------------------------------------------- */

/* Unbinds a bound set.  The caller holds the lock. */
void cpci_unbind(struct cpc_set *set);
/* In a forked child: unbinds a set without stopping the counters, which belong to the parent. */
void cpci_unbind_forked(struct cpc_set *set);
/* Makes the exit of the calling LWP unbind its set.  Call it before each bind.  -1 and errno. */
int cpci_unbind_at_exit(void);

/* ---- twin.c: the caller holds the lock ---------------------------------------------------------
 */

/* The set or twin that the calling LWP is to bind to itself for `set`.  NULL: out of memory. */
cpc_set_t *cpci_twin(cpc_set_t *set);
/* Unbinds and frees all twins of a set. */
void cpci_twins_free(cpc_set_t *set);

/* ---- births.c ----------------------------------------------------------------------------- */

/* Does the library see the threads that the program creates? */
bool cpci_births_seen(void);

#endif /* CPCI_SET_H */
