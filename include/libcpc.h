/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libcpc.h - CPU performance counters, for an LWP, a controlled process or a CPU.
 *
 * Open the library, add requests for events to a set, bind the set to an LWP or a CPU, and
 * sample it into buffers.  A bound set counts all the time: it is never multiplexed or
 * scaled. If the counters do not suffice for that, the set is refused.
 *
 * Names, types and errors follow cpc(3CPC) and its pages of Solaris.  What Solaris does not
 * have is marked Extension.
 */
#ifndef LIBCPC_H
#define LIBCPC_H

#include <cpc_overflow.h>
#include <cpc_ratio.h>
#include <cpc_types.h>
#include <libpctx.h>
#include <stdarg.h>
#include <stddef.h>

/* Solaris programs expect these, too. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

#define CPC_VER_CURRENT 2

/* The lengths on Solaris, with which programs declare arrays.  Names may be longer here. */
#define CPC_MAX_EVENT_LEN 512
#define CPC_MAX_ATTR_LEN 32

/*
 * An attribute of a request: "picnum" selects the slot; other attributes are fields of the
 * PMU that counts the event (cpc_walk_attrs).
 */
typedef struct {
	char *ca_name;
	uint64_t ca_val;
} cpc_attr_t;

/* Request flags.  One of the two CPC_COUNT flags is required. */
#define CPC_OVF_NOTIFY_EMT 0x1 /* report overflows; see cpc_set_restart() */
#define CPC_COUNT_USER 0x2     /* count in user mode */
#define CPC_COUNT_SYSTEM 0x4   /* count in kernel mode */
#define CPC_COUNT_HV 0x8       /* count in hypervisor mode: always refused on Linux */
#define CPC_OVF_BUFFERED 0x10  /* with CPC_OVF_NOTIFY_EMT: see cpc_set_sample_pcbuf() */
#define CPC_OVF_RECORD 0x20    /* Extension: with call stacks, too; see cpc_set_sample_ovf() */

/* Subcodes for the error handler: why a call failed, beyond errno.  0: errno says everything. */
#define CPC_INVALID_EVENT 1	     /* no such event */
#define CPC_INVALID_PICNUM 2	     /* no such slot, or taken twice */
#define CPC_INVALID_ATTRIBUTE 3	     /* no such attribute */
#define CPC_ATTRIBUTE_OUT_OF_RANGE 4 /* the attribute's value is out of range */
#define CPC_RESOURCE_UNAVAIL 5	     /* no counter can count it on this machine */
#define CPC_PIC_NOT_CAPABLE 6	     /* that slot cannot count it */
#define CPC_REQ_INVALID_FLAGS 7	     /* unknown flags, or neither user nor kernel mode */
#define CPC_CONFLICTING_REQS 8	     /* the requests exclude each other */
#define CPC_ATTR_REQUIRES_PRIVILEGE 9
#define CPC_PBIND_FAILED 10 /* the LWP could not be put on that CPU */
#define CPC_HV_NO_ACCESS 11 /* the hypervisor is not counted */

/* Extensions. */
#define CPC_WARNING 0x100      /* only a warning: the call goes on */
#define CPC_CPU_CLAIMED 0x101  /* EAGAIN: another program has bound a set to a CPU */
#define CPC_NEEDS_SYSTEM 0x102 /* EINVAL: it happens in kernel mode, which is not counted */
#define CPC_CLAIM_FAILED 0x103 /* the CPU cannot be claimed, to exclude other programs */
#define CPC_IS_RATIO 0x104     /* EINVAL: not an event but a ratio of events: cpc_ratio_find() */

/*
 * Receives the name of the failed function, the subcode, and the message, which ends in a newline,
 * as a printf format and its arguments.  errno is already set and is kept.  Functions that may
 * be called in signal handlers (cpc_set_sample, cpc_enable, cpc_disable, cpc_set_restart,
 * cpc_request_preset, cpc_set_overflowed, cpc_set_sample_pcbuf, cpc_set_sample_ovf,
 * cpc_buf_get and the arithmetic of buffers) and cpc_open do not call it: they only set
 * errno. cpc_seterrhndlr(3CPC).
 */
typedef void(cpc_errhndlr_t)(const char *fn, int subcode, const char *fmt, va_list ap);

/*
 * cpc_open(3CPC).  `ver` is CPC_VER_CURRENT.  Threads may share the handle.  Returns NULL and
 * errno: EINVAL (another version), ENOSYS (a kernel without perf events, or no /proc),
 * ENOMEM.  Whether counting is permitted is only checked when a set is bound.
 */
cpc_t *cpc_open(int ver);

/*
 * Frees the handle, all its sets, bound or not, and its buffers.  Returns 0, or -1 and errno:
 * EINVAL (it is not a handle).
 *
 * All calls look their handle, set and buffers up.  For NULL, for what is destroyed and for what
 * belongs to another handle, they do nothing, set errno to EINVAL, and return -1, NULL or 0.
 */
int cpc_close(cpc_t *cpc);

/*
 * Ends each pctx_run(3) that controls an LWP to which a set of `cpc` is bound, as
 * pctx_terminate(3) does.  Signal handlers may call it, but not while another thread destroys sets
 * of `cpc`.  cpc_open(3CPC); no manual page of Solaris has it, but its header and its cputrack(1).
 */
void cpc_terminate(cpc_t *cpc);

/*
 * For programs that are about to exit.  The kernel takes 50 to 100 ms to close each counter
 * of function calls.  libcpc closes those of other processes in a thread of its own.  This
 * call leaves the remaining ones to a new process, so that the program need not wait.
 * Returns the number of counters that the exit must still wait for.  See cpc_open(3).
 */
uint_t cpc_leave_closing(void);

/* Replaces the error handler.  NULL: the default handler, which writes to stderr. */
void cpc_seterrhndlr(cpc_t *cpc, cpc_errhndlr_t *errhndlr);

/*
 * cpc_npic(3CPC).  The number of slots: how many counters of the core PMU one set can have at
 * once, or 16 virtual ones on a machine without a PMU, or where the caller may not count.  Some
 * counters may count cycles only. Software events and tracepoints take a slot but no hardware
 * counter.
 */
uint_t cpc_npic(cpc_t *cpc);

/* The flags of cpc_caps(). */
#define CPC_CAP_OVERFLOW_INTERRUPT 0x1 /* counters interrupt when they overflow */
#define CPC_CAP_OVERFLOW_PRECISE 0x2   /* and the library knows which one did */

/* cpc_caps(3CPC).  The abilities of the core PMU, or of the kernel's counters without one. */
uint_t cpc_caps(cpc_t *cpc);

/* The name of the counter interface, and where its events are documented. */
const char *cpc_cciname(cpc_t *cpc);
const char *cpc_cpuref(cpc_t *cpc);

/*
 * Call `action` for each event that can be counted on this machine; for each generic event
 * (generic_events(3CPC)); for those that slot `picno` can count; and for each attribute that a
 * request may have.  Most slots can count all events, but some count only cycles, for example.
 * The first call with a handle tries all events, later ones repeat what was found, except
 * for cpc_walk_events_desc(), which tries them at each call.  Only cpc_walk_events_desc() reports
 * the groups from CPC_GROUP_VENDOR on.  cpc_npic(3CPC).
 */
void cpc_walk_events_all(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *event));
void cpc_walk_events_pic(cpc_t *cpc, uint_t picno, void *arg,
			 void (*action)(void *arg, uint_t picno, const char *event));
void cpc_walk_generic_events_all(cpc_t *cpc, void *arg,
				 void (*action)(void *arg, const char *event));
void cpc_walk_generic_events_pic(cpc_t *cpc, uint_t picno, void *arg,
				 void (*action)(void *arg, uint_t picno, const char *event));
void cpc_walk_attrs(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *attr));

/*
 * Extension.  The length of the first word of an event spec, as -c of cputrack(1) takes it: an
 * event or an attribute.  A comma ends it, but not in "cpu/event=1,umask=2/" or
 * "uprobe/func=/bin/sh:main,ret/", nor in double quotes between slashes.
 */
size_t cpc_word_length(const char *spec);

/* Extension.  Is `name` an attribute of events, on this machine or on any other? */
int cpc_is_attr(cpc_t *cpc, const char *name);

/*
 * Extension.  Returns the known word that is most similar to a misspelt `word`, if at most a
 * third of its letters differ (the Damerau-Levenshtein distance, ignoring case).  NULL: none.
 */
const char *cpc_nearest(const char *word, const char *const *known, size_t n);

/* The origin of an event's name. */
enum cpc_event_group {
	CPC_GROUP_USER,	      /* definitions by the user and by the system */
	CPC_GROUP_GENERIC,    /* generic_events(3CPC) */
	CPC_GROUP_SOLARIS,    /* names of the Solaris manuals */
	CPC_GROUP_PLATFORM,   /* libpfm4's events of this machine's cores */
	CPC_GROUP_PMU,	      /* events of PMUs that the kernel exports */
	CPC_GROUP_SOFTWARE,   /* software events of the kernel */
	CPC_GROUP_VENDOR,     /* event files of vendors */
	CPC_GROUP_TRACEPOINT, /* the kernel's tracepoints, if tracefs can be read */
	CPC_GROUP_FUNCTION,   /* calls of functions, and probes of programs */
	CPC_GROUP_RATIO,      /* not events but ratios of events: see cpc_ratio_find() */
	CPC_GROUP_CPUS	      /* PMUs that the kernel exports and that count CPUs, but not LWPs */
};

/*
 * Extension.  Calls `action` for each event with its group and its description, which may be
 * empty, in the order of the groups above.  Returns 0, or -1 and errno: ENOMEM, or an errno
 * of open(2) if a file of event definitions cannot be read.
 */
typedef void(cpc_walk_desc_fn)(void *arg, enum cpc_event_group group, const char *event,
			       const char *desc);
int cpc_walk_events_desc(cpc_t *cpc, void *arg, cpc_walk_desc_fn *action);

/* Returns an empty set, or NULL and errno: ENOMEM.  cpc_set_create(3CPC). */
cpc_set_t *cpc_set_create(cpc_t *cpc);

/* Unbinds and frees a set.  EINVAL: not a set of this handle. */
int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set);

/*
 * Extension.  Returns a new, unbound set with the same requests, without looking any event up
 * again. NULL and errno: EINVAL, ENOMEM.
 */
cpc_set_t *cpc_set_dup(cpc_t *cpc, const cpc_set_t *set);

/*
 * Adds a request for `event` that starts at `preset` when bound.  Returns its index in the
 * set, from 0, or -1 and errno: EINVAL (set of another handle, or bound; or with subcode
 * CPC_INVALID_EVENT, CPC_INVALID_ATTRIBUTE, CPC_INVALID_PICNUM,
 * CPC_PIC_NOT_CAPABLE, CPC_REQ_INVALID_FLAGS, CPC_ATTRIBUTE_OUT_OF_RANGE), EACCES (the
 * event's description may not be read), ENOENT (tracefs is not mounted), ENOMEM.  A set has
 * 64 requests at most: EINVAL, CPC_RESOURCE_UNAVAIL. cpc_set_create(3CPC).
 */
int cpc_set_add_request(cpc_t *cpc, cpc_set_t *set, const char *event, uint64_t preset,
			uint_t flags, uint_t nattrs, const cpc_attr_t *attrs);

/*
 * Extension.  Chooses the slots of `n` requests, in the order in which they are added to a
 * set.  On entry `slot` has the attribute "picnum" of each request, or -1 without one; on
 * return, its slot. A request without the attribute gets the next unclaimed slot after the
 * highest one before it.
 */
void cpc_choose_slots(size_t n, int *slot);

/* Changes the preset of a request; the next bind uses it.  EINVAL. */
int cpc_set_request_preset(cpc_t *cpc, cpc_set_t *set, int index, uint64_t preset);

void cpc_walk_requests(cpc_t *cpc, cpc_set_t *set, void *arg,
		       void (*action)(void *arg, int index, const char *event, uint64_t preset,
				      uint_t flags, int nattrs, const cpc_attr_t *attrs));

/*
 * Extension.  Writes into `text` how the library understood request `index`: the kind of its
 * name, and what it asks the kernel to count, in the words of perf_event_open(2).  Returns 0,
 * or -1 and errno: EINVAL.
 */
int cpc_set_describe(cpc_t *cpc, const cpc_set_t *set, int index, char *text, size_t size);

/*
 * Extension.  The factor that converts values of request `index` to the unit `*unit`: 1 and
 * "" for plain counts.  Energy counters of the kernel have others
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-events). Returns 0, or -1 and
 * errno: EINVAL.
 */
int cpc_set_request_scale(cpc_t *cpc, const cpc_set_t *set, int index, double *scale,
			  const char **unit);

/*
 * Extension.  Is request `index` defined as a difference of events, so that its values must
 * be read as int64_t?  1, 0, or -1 and errno: EINVAL.
 */
int cpc_set_request_signed(cpc_t *cpc, const cpc_set_t *set, int index);

/*
 * Extension.  Returns 1 if all events of a set can be counted on that CPU.  Returns 0 if one of
 * them has a PMU that does not count there, or that counts for this CPU on another one: see the
 * files cpus and cpumask of Documentation/ABI/testing/sysfs-bus-event_source-devices.  -1 and
 * errno: EINVAL.
 */
int cpc_set_counts_on(cpc_t *cpc, const cpc_set_t *set, processorid_t cpu);

/*
 * Bind a set to the calling LWP, to an LWP of a controlled process, or to a CPU, and start
 * counting.  Either all requests count, or the set is refused and nothing changes.  There are two
 * exceptions: the sets that it would replace may already be unbound if another program holds the
 * counters (EAGAIN), or if the LWP cannot be moved to the CPU (CPC_PBIND_FAILED).  A bound set
 * restarts from its presets.  Another set of the calling LWP is unbound.  Several LWPs can bind one
 * set to themselves: each has counters of its own.
 *
 * A CPU has one set at a time, over all processes.  While any CPU has one, no LWP can have
 * one, and the sets that LWPs had are invalidated: they can no longer be sampled.
 * cpc_bind_curlwp(3CPC).
 *
 * Return 0, or -1 and errno:
 *  EINVAL  no requests, a set of another handle, unknown flags, no such CPU (with
 *          CPC_PBIND_FAILED: one that the calling LWP may not run on);
 *          CPC_RESOURCE_UNAVAIL: this machine has no counter for a request, or
 *          too few
 *  EACCES  no permission to count this; CPC_ATTR_REQUIRES_PRIVILEGE: an attribute
 *          requires privilege
 *  EAGAIN  another program uses the counters; that CPU is bound already; or any CPU
 *          is, when the set is for an LWP
 *  ENOSYS  the CPU is offline
 *  ENOTSUP overflows of a request cannot be detected, or would hang this kernel
 *  ESRCH   no such LWP
 *  EMFILE, ENFILE, ENOMEM
 */
int cpc_bind_curlwp(cpc_t *cpc, cpc_set_t *set, uint_t flags);
int cpc_bind_pctx(cpc_t *cpc, pctx_t *pctx, id_t id, cpc_set_t *set, uint_t flags);
int cpc_bind_cpu(cpc_t *cpc, processorid_t id, cpc_set_t *set, uint_t flags);

/*
 * Extension, a flag of cpc_bind_cpu: do not move the calling LWP to that CPU, so that one LWP
 * can bind and sample sets on many CPUs.
 */
#define CPC_BIND_CPU_REMOTE 0x10

/*
 * Extension, a flag of cpc_bind_curlwp and cpc_bind_pctx: do not start counting before
 * cpc_enable, in the LWP, or cpc_set_enable.
 */
#define CPC_BIND_DISABLED 0x20

/*
 * Extension, a flag of cpc_bind_cpu: share the CPU with other sets.  The set neither
 * conflicts with sets of LWPs and CPUs, nor invalidates them.
 */
#define CPC_BIND_CPU_SHARED 0x40

/*
 * A flag of cpc_bind_curlwp: LWPs that the calling one creates from now on inherit the set,
 * and so do those that they create.  Each counts with a copy of its own, from the presets of
 * the bind.  It counts from the first instruction of its start routine to its destructors of
 * thread-specific data, including the first two rounds of them. The copy is switched on or
 * off like that of the creating LWP at that moment.
 *
 * In such an LWP, cpc_set_sample, cpc_unbind, cpc_set_enabled, cpc_enable, cpc_disable,
 * cpc_set_restart, cpc_request_preset and cpc_set_overflowed work on its own copy.  A copy
 * ends when its LWP calls cpc_unbind or binds another set, or when an LWP without a copy
 * unbinds the set.
 *
 * If a request has CPC_OVF_NOTIFY_EMT, a new LWP gets SIGEMT (si_code EMT_CPCOVF, si_addr its
 * start routine) before its start routine runs.  Its set is frozen then.  cpc_set_overflowed
 * names no request, and the requests that report overflows have the value UINT64_MAX.
 * cpc_set_restart starts it, with the presets of cpc_request_preset, or else of the bind.  If
 * these requests are buffered, a new LWP is recognized by cpc_buf_tick: its set has no cycles
 * yet.
 *
 * LWPs inherit the set if pthread_create(3) or thrd_create(3) creates them, also in libraries
 * such as those of C++ and OpenMP.  LWPs of clone(2) inherit nothing, nor do those that the C
 * library creates for itself, as for timer_create(2) with SIGEV_THREAD.  ENOTSUP: the library
 * cannot see thread creation, because dlopen(3) opened it, or because the program has such
 * functions of its own.  EINVAL: together with CPC_BIND_LATE.  An LWP that gets no counters runs
 * without them: in it, all calls on the set fail with EAGAIN.
 */
#define CPC_BIND_LWP_INHERIT 0x2

/*
 * Breakpoints and uprobes by symbol ("breakpoint/addr=function/", "uprobe/func=function/")
 * are looked up in the program that is bound and in the libraries that it has mapped by then.
 * ENOENT: a symbol is missing; EINVAL: on CPUs, or a symbol has several addresses.  The
 * symbol of a uprobe with the path of a file is looked up in that file, also on CPUs.
 *
 * Extension, a flag of cpc_bind_curlwp and cpc_bind_pctx: do not look symbols up yet; they
 * count nothing until cpc_set_resolve finds them.
 */
#define CPC_BIND_LATE 0x80

/*
 * Extension.  Looks up the missing symbols of a set that was bound with CPC_BIND_LATE; those
 * found are counted from now on, without a gap for the others.  Returns how many are still
 * missing, or -1 and errno, as for binding.
 */
int cpc_set_resolve(cpc_t *cpc, cpc_set_t *set);

/*
 * Extension.  Calls `action` for each symbol in the requests of a set, with the index of the
 * request.  `address` is the address that a bound set counts; 0: not found yet.  For a uprobe
 * with a file, `symbol` is "file:symbol".  If the file is a path, `address` is the offset in the
 * file.  If it is a name without a path, `address` is CPC_NOT_MAPPED until the process has mapped
 * that file, which it may do later.  After a function of a bound set come the clones that are
 * counted with it, by their own names.
 */
#define CPC_NOT_MAPPED UINT64_MAX
typedef void(cpc_walk_symbols_fn)(void *arg, int index, const char *symbol, uint64_t address);
void cpc_walk_symbols(cpc_t *cpc, const cpc_set_t *set, void *arg, cpc_walk_symbols_fn *action);

/*
 * Extension.  Finds the name most similar to `symbol` (as cpc_walk_symbols reports it) of a bound
 * set: a function or probe of the program and its libraries, or of the file in `symbol`.
 * Returns 1 and `name`, or 0: no name is similar, or the files cannot be read.
 */
int cpc_nearest_symbol(cpc_t *cpc, const cpc_set_t *set, const char *symbol, char *name,
		       size_t size);

/*
 * Stops counting and frees the counters.  Any LWP may call it, but not while another one is
 * in a call on the set.  -1 and errno: EINVAL (not bound, or a set of another handle).
 */
int cpc_unbind(cpc_t *cpc, cpc_set_t *set);

/*
 * Switch the calling LWP's counters on, from their current values, and off.  These are the
 * counters of the set that the LWP bound to itself with this handle, or else those that a
 * controlling process (cputrack(1)) bound to it by cpc_bind_pctx().  Switching counters on that
 * are on, or off that are off, has no effect.  Safe in signal handlers.  cpc_enable(3CPC).
 *
 * Return 0, or -1 and errno: EINVAL (the LWP has no counters), EAGAIN (another program took
 * them, or they were invalidated).
 */
int cpc_enable(cpc_t *cpc);
int cpc_disable(cpc_t *cpc);

/*
 * Extension.  The same for a set bound by cpc_bind_pctx.  While it is off, samples repeat the
 * last values.  Return 0, or -1 and errno: EINVAL (not bound so), EAGAIN.
 */
int cpc_set_enable(cpc_t *cpc, cpc_set_t *set);
int cpc_set_disable(cpc_t *cpc, cpc_set_t *set);

/* Extension.  Is a bound set switched on?  1, 0, or -1 and errno: EINVAL (it is not bound). */
int cpc_set_enabled(cpc_t *cpc, const cpc_set_t *set);

/*
 * Create and free a buffer.  It holds one sample of a set: a value per request, the time and
 * the cycles.  cpc_buf_create(3CPC).  NULL or -1 and errno: EINVAL, ENOMEM.
 */
cpc_buf_t *cpc_buf_create(cpc_t *cpc, cpc_set_t *set);
int cpc_buf_destroy(cpc_t *cpc, cpc_buf_t *buf);

/*
 * Takes one consistent snapshot of a bound set.  Values start at the presets and wrap at
 * 2^64.  Safe in signal handlers.  After the exit of an LWP of a controlled process, samples
 * have its last values. cpc_set_sample(3CPC).
 *
 * Returns 0, or -1 and errno: EINVAL (not bound; another number of requests than the buffer; bound
 * to another LWP), ENOSYS (the CPU went offline), EAGAIN (another program took the counters, or the
 * set was invalidated: all counts are lost; unbind it).
 */
int cpc_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf);

/*
 * Extension.  Samples the sum over the LWP that bound a set with CPC_BIND_LWP_INHERIT and all
 * LWPs that inherited it, including those that have exited or unbound it since.  Values are the
 * presets of the bind, added once, plus the counts of all LWPs.  A restarted LWP counts from its
 * restart; one with buffered overflows goes on counting at overflows.  The cycles, cpc_buf_nlost
 * and cpc_buf_nthrottled are the sums of all.  Overflows that an LWP had not taken at its exit
 * are lost.  The LWPs are sampled one after the other.  Any LWP may call this function, but no
 * signal handler.
 *
 * Returns 0, or -1 and errno: EINVAL (not bound so; another number of requests), EAGAIN (the
 * counts of some LWP were lost, or it got no counters; the set was invalidated).
 */
int cpc_set_sample_all(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf);

/*
 * Extension.  Returns how many LWPs count with an inherited copy of a set that was bound with
 * CPC_BIND_LWP_INHERIT; -1 and errno: EINVAL (the set is not bound so).
 */
int cpc_set_ncopies(cpc_t *cpc, const cpc_set_t *set);

/*
 * Extension.  Why did cpc_set_sample fail with EAGAIN?  Returns 1 if another program took the
 * counters of the bound set, or if an LWP that inherited it got no counters, and writes the known
 * details into `text`, as a line without newline.  Returns 0 if the set was invalidated because
 * a CPU was bound.  -1 and errno: EINVAL.
 */
int cpc_set_lost(cpc_t *cpc, const cpc_set_t *set, char *text, size_t size);

/* Read and write the value of request `index`.  EINVAL: no such request. */
int cpc_buf_get(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t *val);
int cpc_buf_set(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t val);

/*
 * The time of the sample, and the CPU cycles for which its set had been counting.  These are
 * cycles of the time-stamp counter on x86, and of the kernel's nominal frequency elsewhere;
 * nanoseconds if that is unknown.
 */
hrtime_t cpc_buf_hrtime(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_tick(cpc_t *cpc, cpc_buf_t *buf);

/*
 * Extension.  npcs: the number of overflows in a sample of cpc_set_sample_pcbuf() or _ovf().
 * nlost: the number of overflows that were lost since the bind, because the buffer was full.
 * nthrottled: how often the kernel has stopped the counters since the bind, because they
 * overflowed too often.  Stopped counters count nothing.
 */
uint_t cpc_buf_npcs(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_nlost(cpc_t *cpc, cpc_buf_t *buf);
uint64_t cpc_buf_nthrottled(cpc_t *cpc, cpc_buf_t *buf);

/*
 * result = left - right, left + right, per request and for the cycles; the time becomes the
 * later of the two.  dest = src.  buf = 0.  The sets of all buffers must have the
 * same number of requests, else EINVAL.  result may be left or right.
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
