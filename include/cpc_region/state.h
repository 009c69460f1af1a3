/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region/state.h - what is known of regions: a part of cpc_region.h.
 */
#ifndef CPC_REGION_STATE_H
#define CPC_REGION_STATE_H

#include <libcpc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One for the whole program, whichever of its files include this. */
#define CPC_REGION_ONE_ __attribute__((weak, visibility("default")))

enum {
	CPC_REGION_MAX = 16,	   /* events of a region */
	CPC_REGION_MAX_EVENTS = 64 /* of all regions: what a set takes */
};

/* What is the same at each place with the same name and events. */
struct cpc_region_info {
	const char *name, *events;
	struct cpc_region_info *next;
	unsigned id, n;
	unsigned event[CPC_REGION_MAX]; /* in cpc_region_event[] */
	char *error;			/* NULL, or why it can be counted nowhere */
};

struct cpc_region_site {
	const char *name, *events;
	struct cpc_region_info *info; /* NULL: not been here yet */
};

/* What an LWP counted in a region.  Written by that LWP, read at the end. */
struct cpc_region_total {
	const struct cpc_region_info *info;
	struct cpc_region_total *next;
	uint64_t entries, counted;
	uint64_t open;	/* how often it is entered and not left */
	uint64_t inner; /* of those left, how many count with the outermost one, which is open */
	char *error;	/* NULL, or why entries were not counted */
	uint64_t count[CPC_REGION_MAX];
};

/* A region that an LWP is in. */
struct cpc_region_frame {
	struct cpc_region_total *total;
	int outer;  /* it is the outermost of its region */
	int counts; /* and was counted so far */
	uint64_t start[CPC_REGION_MAX], sum[CPC_REGION_MAX];
};

struct cpc_region_lwp {
	struct cpc_region_lwp *next;
	struct cpc_region_total *totals;
	long tid;
	int busy; /* a signal handler must not come between */
	struct cpc_region_total **by_id;
	unsigned n_by_id;
	struct cpc_region_frame *frame;
	unsigned depth, room;
	cpc_set_t *set; /* the one that this LWP has bound, or NULL */
	cpc_buf_t *buf;
	int request[CPC_REGION_MAX_EVENTS]; /* of each event; -1: the set has none */
};

struct cpc_region_event {
	char *name;
	uint_t flags;
};

struct cpc_region_scope {
	struct cpc_region_site *site; /* NULL: not entered */
	int once;
};

CPC_REGION_ONE_ int cpc_region_off = 0; /* the environment says so: all that is looked at then */
CPC_REGION_ONE_ int cpc_region_ready = 0;
CPC_REGION_ONE_ int cpc_region_json = 0;
CPC_REGION_ONE_ const char *cpc_region_file = 0; /* NULL: the standard error output */
CPC_REGION_ONE_ pthread_mutex_t cpc_region_lock = PTHREAD_MUTEX_INITIALIZER;
CPC_REGION_ONE_ pthread_key_t cpc_region_key = 0;
CPC_REGION_ONE_ cpc_t *cpc_region_cpc = 0;
CPC_REGION_ONE_ cpc_set_t *cpc_region_all = 0; /* never bound: all events, for cpc_set_dup() */
CPC_REGION_ONE_ struct cpc_region_event cpc_region_event[CPC_REGION_MAX_EVENTS] = {{0, 0}};
CPC_REGION_ONE_ unsigned cpc_region_events = 0, cpc_region_infos = 0;
CPC_REGION_ONE_ struct cpc_region_info *cpc_region_first = 0;
CPC_REGION_ONE_ struct cpc_region_lwp *cpc_region_lwps = 0, *cpc_region_last = 0;
/* Those of the processes before a fork, of no use but to leak checkers. */
CPC_REGION_ONE_ struct cpc_region_lwp *cpc_region_parents = 0;
CPC_REGION_ONE_ __thread struct cpc_region_lwp *cpc_region_self = 0;
/* What libcpc told this thread last. */
CPC_REGION_ONE_ __thread char cpc_region_why[256] = {0};

CPC_REGION_ONE_ void cpc_region_hear(const char *fn, int subcode, const char *fmt, va_list ap)
{
	(void)fn;
	if (subcode != CPC_WARNING)
		vsnprintf(cpc_region_why, sizeof(cpc_region_why), fmt, ap);
}

CPC_REGION_ONE_ char *cpc_region_copy(const char *text, size_t n)
{
	char *copy = (char *)malloc(n + 1);

	if (copy != NULL) {
		memcpy(copy, text, n);
		copy[n] = '\0';
	}
	return copy;
}

/* What libcpc told since cpc_region_why was emptied, or else what errno is. */
CPC_REGION_ONE_ char *cpc_region_reason(int err)
{
	const char *why = cpc_region_why[0] != '\0' ? cpc_region_why : strerror(err);

	return cpc_region_copy(why, strlen(why));
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_STATE_H */
