/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libcpc.h - CPU performance counters, for an LWP, a controlled process or a CPU.
 *
 * Open the library, put requests for events into a set, bind the set to what
 * shall be counted, sample it into buffers.  A bound set counts all the time: it
 * is never multiplexed and never scaled, or it is refused.
 *
 * Names, types and errors follow cpc(3CPC) and its pages of Solaris.  What
 * Solaris does not have is marked Extension.
 */
#ifndef LIBCPC_H
#define LIBCPC_H

#include <cpc_overflow.h>
#include <cpc_ratio.h>
#include <cpc_types.h>
#include <libpctx.h>
#include <stdarg.h>
#include <stddef.h>

/* As on Solaris, programs get these, too. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

#define CPC_VER_CURRENT 2

/*
 * An attribute of a request: "picnum" puts it on that slot; others are fields of the
 * PMU that counts it (cpc_walk_attrs).
 */
typedef struct {
	char *ca_name;
	uint64_t ca_val;
} cpc_attr_t;

/* Request flags.  One of the two CPC_COUNT flags is required. */
#define CPC_OVF_NOTIFY_EMT 0x1 /* tell of overflows; see cpc_set_restart() */
#define CPC_COUNT_USER 0x2     /* count in user mode */
#define CPC_COUNT_SYSTEM 0x4   /* count in kernel mode */
#define CPC_COUNT_HV 0x8       /* and in that of the hypervisor, which is refused on Linux */
#define CPC_OVF_BUFFERED 0x10  /* with CPC_OVF_NOTIFY_EMT: see cpc_set_sample_pcbuf() */
#define CPC_OVF_RECORD 0x20    /* Extension: with call stacks, too; see cpc_set_sample_ovf() */

/*
 * What went wrong, beside errno, as the error handler is told.  0 stands for
 * everything that errno says fully.
 */
#define CPC_INVALID_EVENT 1	     /* no such event */
#define CPC_INVALID_PICNUM 2	     /* no such slot, or taken twice */
#define CPC_INVALID_ATTRIBUTE 3	     /* no such attribute */
#define CPC_ATTRIBUTE_OUT_OF_RANGE 4 /* its value does not fit */
#define CPC_RESOURCE_UNAVAIL 5	     /* no counter for it here */
#define CPC_PIC_NOT_CAPABLE 6	     /* that slot cannot count it */
#define CPC_REQ_INVALID_FLAGS 7	     /* unknown flags, or none that counts */
#define CPC_CONFLICTING_REQS 8	     /* requests exclude each other */
#define CPC_ATTR_REQUIRES_PRIVILEGE 9
#define CPC_PBIND_FAILED 10 /* the LWP could not be put on that CPU */
#define CPC_HV_NO_ACCESS 11 /* the hypervisor is not counted */

/* Extensions. */
#define CPC_WARNING 0x100      /* the call does not fail for it */
#define CPC_CPU_CLAIMED 0x101  /* EAGAIN: a set of somebody else is bound to a CPU */
#define CPC_NEEDS_SYSTEM 0x102 /* EINVAL: it happens in kernel mode, which is not counted */
#define CPC_CLAIM_FAILED 0x103 /* the CPU cannot be claimed, so that others would not see it */
#define CPC_IS_RATIO 0x104     /* EINVAL: no event but a ratio of some: cpc_ratio_find() */
/* EINVAL: a CPC_INVALID_EVENT whose name is unknown and resembles no known one */
#define CPC_UNKNOWN_EVENT 0x105

/*
 * Receives the failed function's name, the subcode, and what happened as a
 * printf format without newline and its arguments.  errno is already set and is
 * kept.  Functions that may be called in signal handlers (cpc_set_sample, cpc_enable,
 * cpc_disable, cpc_set_restart, cpc_request_preset, cpc_set_overflowed, cpc_set_sample_pcbuf,
 * cpc_set_sample_ovf, cpc_buf_get and the arithmetic of buffers) leave it alone: errno says it all
 * there, and so it does for cpc_open. cpc_seterrhndlr(3CPC).
 */
typedef void(cpc_errhndlr_t)(const char *fn, int subcode, const char *fmt, va_list ap);

/*
 * cpc_open(3CPC).  `ver` is CPC_VER_CURRENT.  The handle may be shared by
 * threads.  Returns NULL and errno: EINVAL (another version), ENOSYS (a kernel
 * without perf events, or no /proc), ENOMEM.  That counting is not permitted
 * shows when a set is bound.
 */
cpc_t *cpc_open(int ver);

/* Frees the handle with all its sets, bound or not, and buffers.  Returns 0. */
int cpc_close(cpc_t *cpc);

/*
 * For programs that are about to end.  The kernel takes 50 to 100 ms to close a counter of
 * calls, one by one; libcpc leaves those of other processes to a thread of its own, and what
 * is left of them now to a process of its own, so that nobody waits.  See cpc_open(3).
 */
void cpc_leave_closing(void);

/* Replaces the error handler; NULL: the default one, which writes to stderr. */
void cpc_seterrhndlr(cpc_t *cpc, cpc_errhndlr_t *errhndlr);

/*
 * cpc_npic(3CPC).  The number of slots: as many counters of the core PMU as one set can
 * have at once, or 16 virtual ones where there is no PMU.  Some of the counters may count
 * cycles only.  Software events and tracepoints take a slot but no hardware counter.
 */
uint_t cpc_npic(cpc_t *cpc);

/* What cpc_caps() returns, or'ed. */
#define CPC_CAP_OVERFLOW_INTERRUPT 0x1 /* counters interrupt when they overflow */
#define CPC_CAP_OVERFLOW_PRECISE 0x2   /* and it is known which one did */

/* cpc_caps(3CPC).  What the counters can do: of the core PMU, or of the kernel without one. */
uint_t cpc_caps(cpc_t *cpc);

/* The name of the counter interface, and where its events are documented. */
const char *cpc_cciname(cpc_t *cpc);
const char *cpc_cpuref(cpc_t *cpc);

/*
 * Call `action` for every event that can be counted here, for every generic one
 * (generic_events(3CPC)), for those that slot `picno` can count, which are all but on counters
 * of cycles and the like, and for every attribute a request may have.  Of tracepoints,
 * and of PMUs that count no LWPs, only cpc_walk_events_desc tells.  cpc_npic(3CPC).
 */
void cpc_walk_events_all(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *event));
void cpc_walk_events_pic(cpc_t *cpc, uint_t picno, void *arg,
			 void (*action)(void *arg, uint_t picno, const char *event));
void cpc_walk_generic_events_all(cpc_t *cpc, void *arg,
				 void (*action)(void *arg, const char *event));
void cpc_walk_generic_events_pic(cpc_t *cpc, uint_t picno, void *arg,
				 void (*action)(void *arg, uint_t picno, const char *event));
void cpc_walk_attrs(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *attr));

/* Extension.  Is `name` the name of an attribute, on this machine or another one? */
int cpc_is_attr(cpc_t *cpc, const char *name);

/*
 * Extension.  Which of `n` known words was a misspelt one meant to be, with a third of its
 * letters wrong at most (by Levenshtein's distance, without regard to case)?  NULL: none.
 */
const char *cpc_nearest(const char *word, const char *const *known, size_t n);

/* Where a name comes from. */
enum cpc_event_group {
	CPC_GROUP_USER,	      /* definitions of the user and the system */
	CPC_GROUP_GENERIC,    /* generic_events(3CPC) */
	CPC_GROUP_SOLARIS,    /* names of the Solaris manuals */
	CPC_GROUP_PLATFORM,   /* libpfm4, for this machine's cores */
	CPC_GROUP_PMU,	      /* PMUs that the kernel exports */
	CPC_GROUP_SOFTWARE,   /* the kernel's own */
	CPC_GROUP_VENDOR,     /* event files of vendors */
	CPC_GROUP_TRACEPOINT, /* the kernel's tracepoints, where they can be looked up */
	CPC_GROUP_FUNCTION,   /* calls of functions, and probes of programs */
	CPC_GROUP_RATIO,      /* no events, but ratios of some: see cpc_ratio_find() */
	CPC_GROUP_CPUS	      /* PMUs that the kernel exports, which count CPUs and no LWPs */
};

/*
 * Extension.  All of them with their group and a description, which may be empty;
 * group by group, in the order above.  Returns 0, or -1 and errno: those of open(2), for a
 * file of event definitions that cannot be read; ENOMEM.
 */
typedef void(cpc_walk_desc_fn)(void *arg, enum cpc_event_group group, const char *event,
			       const char *desc);
int cpc_walk_events_desc(cpc_t *cpc, void *arg, cpc_walk_desc_fn *action);

/* An empty set, or NULL and errno: ENOMEM.  cpc_set_create(3CPC). */
cpc_set_t *cpc_set_create(cpc_t *cpc);

/* Unbinds and frees a set.  EINVAL: not a set of this handle. */
int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set);

/*
 * Extension.  A new, unbound set with the same requests, made without looking
 * any event up again.  Buffers of the one serve the other, so that counts of
 * many LWPs can be added up.  NULL and errno: EINVAL, ENOMEM.
 */
cpc_set_t *cpc_set_dup(cpc_t *cpc, const cpc_set_t *set);

/*
 * Adds a request for `event` that starts at `preset` when bound.  Returns its
 * index in the set, from 0, or -1 and errno: EINVAL (set of another handle or
 * bound; with subcodes CPC_INVALID_EVENT, CPC_UNKNOWN_EVENT, CPC_INVALID_ATTRIBUTE,
 * CPC_INVALID_PICNUM, CPC_PIC_NOT_CAPABLE, CPC_REQ_INVALID_FLAGS, CPC_ATTRIBUTE_OUT_OF_RANGE),
 * EACCES (the event's description may not be read), ENOENT (it is not there: tracefs is not
 * mounted), ENOMEM.  A set takes 64 requests at most: EINVAL, CPC_RESOURCE_UNAVAIL.
 * cpc_set_create(3CPC).
 */
int cpc_set_add_request(cpc_t *cpc, cpc_set_t *set, const char *event, uint64_t preset,
			uint_t flags, uint_t nattrs, const cpc_attr_t *attrs);

/*
 * Extension.  Which slots do `n` requests of a set get, in the order in which they are
 * added?  `slot` has for each the one that its attribute "picnum" asks for, or -1, and then
 * the one it gets: a request that asks for none takes the next one after the highest before
 * it that nobody asks for.
 */
void cpc_choose_slots(size_t n, int *slot);

/* Changes the preset of a request, from the next bind on.  EINVAL. */
int cpc_set_request_preset(cpc_t *cpc, cpc_set_t *set, int index, uint64_t preset);

void cpc_walk_requests(cpc_t *cpc, cpc_set_t *set, void *arg,
		       void (*action)(void *arg, int index, const char *event, uint64_t preset,
				      uint_t flags, int nattrs, const cpc_attr_t *attrs));

/*
 * Extension.  Writes into `text` how request `index` was understood: who knew its
 * name, and what the kernel is asked to count, in words of perf_event_open(2).
 * Returns 0, or -1 and errno: EINVAL.
 */
int cpc_set_describe(cpc_t *cpc, const cpc_set_t *set, int index, char *text, size_t size);

/*
 * Extension.  What the values of request `index` are to be multiplied with to be in
 * the unit that `*unit` is set to: 1 and "" for plain counts.  Energy counters of the
 * kernel have others (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
 * Returns 0, or -1 and errno: EINVAL.
 */
int cpc_set_request_scale(cpc_t *cpc, const cpc_set_t *set, int index, double *scale,
			  const char **unit);

/*
 * Extension.  Is request `index` defined with a difference of events, so that its values are
 * to be read as int64_t?  1, 0, or -1 and errno: EINVAL.
 */
int cpc_set_request_signed(cpc_t *cpc, const cpc_set_t *set, int index);

/*
 * Extension.  Can the events of a set be counted on that CPU?  0 where one of them has a
 * PMU that does not count there, or that counts on another CPU for this one, too (the
 * files cpus and cpumask of Documentation/ABI/testing/sysfs-bus-event_source-devices), else 1.
 * -1 and errno: EINVAL.
 */
int cpc_set_counts_on(cpc_t *cpc, const cpc_set_t *set, processorid_t cpu);

/*
 * Bind a set to the calling LWP, to an LWP of a controlled process, or to a CPU,
 * and start counting.  All requests count, or the set is refused and all is as it
 * was; only where others hold counters (EAGAIN), what was to give way may be unbound
 * already.  A set that was bound starts anew, and another set of the calling LWP is
 * unbound.
 *
 * A CPU has one set at a time, over all processes.  While any CPU has one, no LWP can
 * have one, and those that LWPs had are invalidated: they can no more be sampled.
 * cpc_bind_curlwp(3CPC).
 *
 * Return 0, or -1 and errno:
 *  EINVAL  no requests, a set of another handle, unknown flags, no such CPU (also
 *          CPC_PBIND_FAILED: one that the calling LWP may not run on);
 *          CPC_RESOURCE_UNAVAIL: this machine has no counter for a request, or
 *          too few
 *  EACCES  not permitted to count this; CPC_ATTR_REQUIRES_PRIVILEGE: with an attribute
 *  EAGAIN  the counters are in use by others; that CPU is bound already; or any CPU
 *          is, when the set is for an LWP
 *  ENOSYS  the CPU is offline
 *  ENOTSUP the overflow of a request cannot be noticed, or would hang this kernel
 *  ESRCH   no such LWP
 *  EMFILE, ENFILE, ENOMEM
 */
int cpc_bind_curlwp(cpc_t *cpc, cpc_set_t *set, uint_t flags);
int cpc_bind_pctx(cpc_t *cpc, pctx_t *pctx, id_t id, cpc_set_t *set, uint_t flags);
int cpc_bind_cpu(cpc_t *cpc, processorid_t id, cpc_set_t *set, uint_t flags);

/*
 * Extension, a flag of cpc_bind_cpu: leave the calling LWP where it is instead
 * of putting it on that CPU, so that one LWP can hold and sample sets on many.
 */
#define CPC_BIND_CPU_REMOTE 0x10

/*
 * Extension, a flag of cpc_bind_curlwp and cpc_bind_pctx: do not start yet, but when
 * cpc_enable, in the LWP, or cpc_set_enable says so.
 */
#define CPC_BIND_DISABLED 0x20

/*
 * Extension, a flag of cpc_bind_cpu: count beside others.  Such a set is not refused
 * because of theirs, nor are theirs refused or invalidated because of it.
 */
#define CPC_BIND_CPU_SHARED 0x40

/*
 * A flag of cpc_bind_curlwp: LWPs that the calling one creates from now on inherit the set,
 * and so do those that they create.  Each counts with a copy of its own, from the presets of
 * the bind, and from the first instruction of its start routine to its destructors of
 * thread-specific data, the first two rounds of them included.
 * It is on or off as that of the LWP that creates it is then.
 *
 * In such an LWP, cpc_set_sample, cpc_unbind, cpc_set_enabled, cpc_enable, cpc_disable,
 * cpc_set_restart, cpc_request_preset and cpc_set_overflowed work on its own copy.  It ends
 * with cpc_unbind in it, when it binds another set, and with the unbinding of the set by any
 * LWP that has no copy.
 *
 * If a request has CPC_OVF_NOTIFY_EMT, a new LWP gets SIGEMT (si_code EMT_CPCOVF, si_addr its
 * start routine) before that runs.  Its set is frozen then, cpc_set_overflowed names no
 * request, and those that tell overflows have the value UINT64_MAX, until cpc_set_restart:
 * it begins with what cpc_request_preset has set, or else with the presets of the bind.
 * Where these requests are buffered, cpc_buf_tick tells a new LWP: only that has no cycles.
 *
 * These are LWPs made by pthread_create(3) and thrd_create(3), also by way of libraries, such
 * as those of C++ and OpenMP; but not by clone(2), nor by the C library for its own ends, as
 * for timer_create(2) with SIGEV_THREAD.  ENOTSUP: the library cannot see which are
 * created, because dlopen(3) opened it, or the program has such functions of its own.  EINVAL:
 * together with CPC_BIND_LATE.  An LWP whose counters cannot be had runs without: in it, all calls
 * on the set fail with EAGAIN.
 */
#define CPC_BIND_LWP_INHERIT 0x2

/*
 * Breakpoints and uprobes by symbol ("breakpoint/addr=function/", "uprobe/func=function/")
 * are looked up in the program that is bound, and in the libraries that it has by then:
 * ENOENT when one is missing, EINVAL on CPUs, and for symbols that name no single address.
 * A uprobe that names its file by its path is looked up there, on CPUs, too.
 *
 * Extension, a flag of cpc_bind_curlwp and cpc_bind_pctx: do not look symbols up yet; they
 * count nothing until cpc_set_resolve finds them.
 */
#define CPC_BIND_LATE 0x80

/*
 * Extension.  Looks the symbols up that a set bound with CPC_BIND_LATE lacks; those that
 * are found are counted from now on, without a gap for all others.  Returns how many it
 * still lacks, or -1 and errno, as for binding.
 */
int cpc_set_resolve(cpc_t *cpc, cpc_set_t *set);

/*
 * Extension.  Calls `action` for each symbol that the requests of a set name, with the
 * index of the request and, if the set is bound, with the address counted; 0: none yet.
 * Of a uprobe with a file it is "file:symbol", and with a path, where it is in the file;
 * with a name that is no path it is CPC_NOT_MAPPED as long as the process was not seen to
 * have that file, which it may load later.
 */
#define CPC_NOT_MAPPED UINT64_MAX
typedef void(cpc_walk_symbols_fn)(void *arg, int index, const char *symbol, uint64_t address);
void cpc_walk_symbols(cpc_t *cpc, const cpc_set_t *set, void *arg, cpc_walk_symbols_fn *action);

/*
 * Extension.  The name that is nearest to `symbol`, as above, of a set that is bound, among those
 * of the program and its libraries, or of the file that it names: 1, and the function or the
 * probe is in `name`.  0: none is near, or they cannot be read.
 */
int cpc_nearest_symbol(cpc_t *cpc, const cpc_set_t *set, const char *symbol, char *name,
		       size_t size);

/*
 * Stops counting and frees the counters.  Any LWP may do that, but not while another one is
 * in a call on the set.  -1 and errno: EINVAL (not bound, or a set of another handle).
 */
int cpc_unbind(cpc_t *cpc, cpc_set_t *set);

/*
 * Switch the calling LWP's counters on, from the values that they have, and off: those
 * of the set that it bound to itself with this handle; if there is none, those that
 * the controlling process (cputrack(1)) bound to it by cpc_bind_pctx(), whose library
 * does that without its program.  To switch on what is on, or off
 * what is off, changes nothing.  Safe in signal handlers.  cpc_enable(3CPC).
 *
 * Return 0, or -1 and errno: EINVAL (the LWP has no counters), EAGAIN (they were lost
 * to somebody else, or invalidated).
 */
int cpc_enable(cpc_t *cpc);
int cpc_disable(cpc_t *cpc);

/*
 * Extension.  The same for a set bound by cpc_bind_pctx.  Off, its samples repeat the
 * last values.  Return 0, or -1 and errno: EINVAL (not bound so), EAGAIN.
 */
int cpc_set_enable(cpc_t *cpc, cpc_set_t *set);
int cpc_set_disable(cpc_t *cpc, cpc_set_t *set);

/* Extension.  Is a bound set switched on?  1, 0, or -1 and errno: EINVAL (it is not bound). */
int cpc_set_enabled(cpc_t *cpc, const cpc_set_t *set);

/*
 * Buffers hold one sample of a set: a value per request, the time and the
 * cycles.  cpc_buf_create(3CPC).  NULL or -1 and errno: EINVAL, ENOMEM.
 */
cpc_buf_t *cpc_buf_create(cpc_t *cpc, cpc_set_t *set);
int cpc_buf_destroy(cpc_t *cpc, cpc_buf_t *buf);

/*
 * Takes one consistent snapshot of a bound set.  Values start at the presets and
 * wrap at 2^64.  Safe in signal handlers.  An LWP of a controlled process can
 * still be sampled after its death: these are its last values.
 * cpc_set_sample(3CPC).
 *
 * Returns 0, or -1 and errno: EINVAL (not bound; a buffer of another set; bound
 * to another LWP), ENOSYS (the CPU went offline), EAGAIN (the set lost its counters to somebody
 * else, or it was invalidated: what it counted since is lost, too; unbind it).
 */
int cpc_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf);

/*
 * Extension.  Of a set bound with CPC_BIND_LWP_INHERIT, what was counted in all: by the LWP
 * that bound it, by those that inherited it, and by those that did and have ended or unbound
 * it.  Values are the presets of the bind, once, plus the counts of all of them; those that
 * are restarted count from there, and those that are buffered go on counting at overflows.
 * The cycles, and what cpc_buf_nlost and _nthrottled tell, are the sums of all; overflows
 * that an LWP had not taken at its end are lost.  Each LWP is sampled at its own instant.  Any
 * LWP may call it, but no signal handler.
 *
 * Returns 0, or -1 and errno: EINVAL (not bound so; a buffer of another set), EAGAIN (the
 * counts of some LWP were lost, or are not known because it had no counters; the set was
 * invalidated).
 */
int cpc_set_sample_all(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf);

/*
 * Extension.  How many LWPs have inherited such a set, and have neither ended nor bound
 * another one since.  -1 and errno: EINVAL (not bound so).
 */
int cpc_set_ncopies(cpc_t *cpc, const cpc_set_t *set);

/*
 * Extension.  After cpc_set_sample gave EAGAIN: why?  Returns 1 if others took the
 * counters of the bound set, or those of an LWP that inherited it could not be had, and
 * writes into `text` what can be known of that, a line without its end; 0 if it was invalidated
 * since a CPU was bound.  -1 and errno: EINVAL.
 */
int cpc_set_lost(cpc_t *cpc, const cpc_set_t *set, char *text, size_t size);

/* Read and write the value of request `index`.  EINVAL: no such request. */
int cpc_buf_get(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t *val);
int cpc_buf_set(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t val);

/*
 * When the sample was taken, and the CPU cycles for which its set had been counting:
 * of the time-stamp counter on x86, else at the nominal frequency that the kernel tells,
 * or nanoseconds where it tells none.
 */
hrtime_t cpc_buf_hrtime(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_tick(cpc_t *cpc, cpc_buf_t *buf);

/*
 * Extension.  How many overflows came with a sample of cpc_set_sample_pcbuf() or _ovf(); and
 * since the set was bound, how many were lost as the buffer was full, and how often the kernel
 * stopped the counters for a while, since they overflowed too often: then they count nothing.
 */
uint_t cpc_buf_npcs(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_nlost(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_nthrottled(cpc_t *cpc, cpc_buf_t *buf);

/*
 * result = left - right, left + right, per request and for the cycles; the time
 * becomes the later of the two.  dest = src.  buf = 0.  All of one set (or of its
 * duplicates), else EINVAL.  result may be left or right.
 */
int cpc_buf_sub(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right);
int cpc_buf_add(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right);
int cpc_buf_copy(cpc_t *cpc, cpc_buf_t *dest, cpc_buf_t *src);
void cpc_buf_zero(cpc_t *cpc, cpc_buf_t *buf);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* LIBCPC_H */
