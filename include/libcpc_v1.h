/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libcpc_v1.h - the first interface to CPU performance counters: cpc_event(3).  It is
 * obsolete; new programs use libcpc.h.
 *
 * There is no handle and no set: an event is made from a spec, which says what to count, and
 * holds a sample.  Each LWP has one event bound.  Names and behaviour follow the pages of
 * cpc_bind_event(3CPC), cpc_strtoevent(3CPC), cpc_event(3CPC), cpc_pctx_bind_event(3CPC) and
 * cpc_shared_open(3CPC) of Solaris.
 *
 * Unless stated otherwise, functions return 0, or -1 and errno.
 */
#ifndef LIBCPC_V1_H
#define LIBCPC_V1_H

#include <errno.h>
#include <libcpc.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

#define CPC_VER_NONE 0
#define CPC_VER_1 1

#define CPC_EVENT_PICS 16 /* slots of an event; the machine may have fewer counters */

/* Values of ce_cpuver on Solaris: programs use these names, but no machine here has them. */
#define CPC_ULTRA1 1000
#define CPC_ULTRA2 1001
#define CPC_ULTRA3 1002
#define CPC_ULTRA3_PLUS 1003
#define CPC_ULTRA3_I 1004
#define CPC_ULTRA4_PLUS 1005
#define CPC_PENTIUM 2000
#define CPC_PENTIUM_MMX 2001
#define CPC_PENTIUM_PRO 2002
#define CPC_PENTIUM_PRO_MMX 2003

typedef struct {
	int ce_cpuver;			 /* cpc_getcpuver() */
	hrtime_t ce_hrt;		 /* when it was sampled */
	uint64_t ce_tick;		 /* CPU cycles while the counters were on */
	uint64_t ce_pic[CPC_EVENT_PICS]; /* presets, and then values; unused slots are 0 */
	uint_t ce_spec;			 /* private to the library: the spec */
} cpc_event_t;

/* Receives messages that end in a newline, as a printf format.  NULL: the default, to stderr. */
typedef void(cpc_errfn_t)(const char *fn, const char *fmt, va_list ap);
void cpc_seterrfn(cpc_errfn_t *errfn);

/* CPC_VER_CURRENT for CPC_VER_NONE; `ver` if it is a supported version; else CPC_VER_NONE. */
uint_t cpc_version(uint_t ver);

/* The number of this kind of machine, above 0; -1 and the errno of cpc_open(). */
int cpc_getcpuver(void);
/* Of a machine: its name, where its events are documented, its slots, the syntax of specs. */
const char *cpc_getcciname(int cpuver);
const char *cpc_getcpuref(int cpuver);
uint_t cpc_getnpic(int cpuver);
const char *cpc_getusage(int cpuver);
/* Calls `action` for each event that slot `regno` can count; `bits` is 0. */
void cpc_walk_names(int cpuver, int regno, void *arg,
		    void (*action)(void *arg, int regno, const char *name, uint8_t bits));

/* May the caller count?  EACCES; EAGAIN: a program has bound a CPU. */
int cpc_access(void);

/*
 * Makes an event, with all values 0, from
 * "[picN=]event[,[picN=]event]...[,attribute[N][=value]]...".  The attributes are those of
 * cpc_walk_attrs(); "sys" adds kernel mode, "nouser" removes user mode.  They apply to all events,
 * or with a number to the event on that slot.  -1: the error function got the reason.
 */
int cpc_strtoevent(int cpuver, const char *spec, cpc_event_t *event);
/* Returns the spec of an event; free(3) it.  NULL and errno: EINVAL, ENOMEM. */
char *cpc_eventtostr(cpc_event_t *event);

/* accum += event; diff = after - before.  The time becomes the later one. */
void cpc_event_accum(cpc_event_t *accum, cpc_event_t *event);
void cpc_event_diff(cpc_event_t *diff, cpc_event_t *after, cpc_event_t *before);

/*
 * A flag of cpc_bind_event(): when a counter overflows from its preset, all counters stop,
 * and the LWP gets SIGEMT (EMT_CPCOVF).  cpc_bind_event() of the same event starts them
 * again, also in the signal handler.  See cpc_set_restart().  The other flag is
 * CPC_BIND_LWP_INHERIT.
 */
#define CPC_BIND_EMT_OVF 0x1

/*
 * Counts `event` in the calling LWP, starting at its ce_pic; the event bound before is
 * released.  NULL: cpc_rele().  Errors are those of cpc_bind_curlwp().
 */
int cpc_bind_event(cpc_event_t *event, int flags);
/* EINVAL: no event is bound; EAGAIN: it was invalidated: release it. */
int cpc_take_sample(cpc_event_t *event);
/*
 * Switch counting of the bound event in user mode, or in kernel mode, on (not 0) or off.
 * ENOTSUP: the event was bound with flags; or some, but not all, of its counters would count
 * nothing.
 */
int cpc_count_usr_events(int enable);
int cpc_count_sys_events(int enable);
int cpc_rele(void);

/* The same for an LWP of a controlled process; flags are 0. */
int cpc_pctx_bind_event(pctx_t *pctx, id_t lwpid, cpc_event_t *event, int flags);
int cpc_pctx_take_sample(pctx_t *pctx, id_t lwpid, cpc_event_t *event);
int cpc_pctx_rele(pctx_t *pctx, id_t lwpid);
/* Makes later samples fail with EAGAIN. */
int cpc_pctx_invalidate(pctx_t *pctx, id_t lwpid);

/*
 * The same for the CPU that the calling LWP is bound to by sched_setaffinity(2), which must
 * be a single one: EINVAL.  Returns a file descriptor that stands for it, or -1 and errno.
 */
int cpc_shared_open(void);
int cpc_shared_bind_event(int fd, cpc_event_t *event, int flags);
int cpc_shared_take_sample(int fd, cpc_event_t *event);
int cpc_shared_rele(int fd);
void cpc_shared_close(int fd);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* LIBCPC_V1_H */
