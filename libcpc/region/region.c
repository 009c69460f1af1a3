/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * region.c - counts events in regions of a program: cpc_region(3), over public calls and libcpc's
 * lock.
 *
 * Regions, events and LWPs are only added to their lists, with the lock held, and never removed, so
 * that the report reads them without it.  The next entry of a region that the LWP knows takes
 * no lock and no memory.
 */
#include "region.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* A region that an LWP is in. */
struct cpci_region_frame {
	struct cpci_region_total *total;
	bool outermost; /* the LWP is not in the same region further out */
	bool counting;
	uint64_t start[CPCI_REGION_EVENTS], sum[CPCI_REGION_EVENTS];
};

static struct {
	const char *name;
	uint_t flags;
} events[CPCI_REGION_ALL_EVENTS];
static unsigned nevents, nregions;
static _Atomic(struct cpci_region *) regions;
static _Atomic(struct cpci_region_lwp *) lwps;
static struct cpci_region_lwp *last_lwp;
/* The LWPs of the parent before a fork: kept reachable for leak checkers. */
static struct cpci_region_lwp *parent_lwps;

static pthread_key_t lwp_key; /* its destructor sees LWPs exit */
static cpc_t *cpc;
static cpc_set_t *all_events; /* never bound: LWPs bind duplicates of it */
static bool report_json;
static const char *report_file; /* NULL: stderr */

static _Thread_local struct cpci_region_lwp *self;
/* The last message of libcpc to this thread, or "". */
static _Thread_local char message[256];

int cpc_region_off;

__attribute__((format(printf, 3, 0))) static void keep_message(const char *fn, int subcode,
							       const char *fmt, va_list ap)
{
	size_t n;

	(void)fn;
	if (subcode == CPC_WARNING)
		return;
	vsnprintf(message, sizeof(message), fmt, ap);
	n = strlen(message);
	if (n > 0 && message[n - 1] == '\n')
		message[n - 1] = '\0';
}

/* The message of libcpc since `message` was cleared, or else the text of `err`. */
static char *reason(int err)
{
	return strdup(message[0] != '\0' ? message : strerror(err));
}

/* ---- start, fork, exit ------------------------------------------------------------- */

static void report_regions(void)
{
	if (lwps != NULL)
		cpci_region_report(regions, lwps, report_file, report_json);
}

static void drop_set(struct cpci_region_lwp *lwp)
{
	if (lwp->set == NULL)
		return;
	cpc_buf_destroy(cpc, lwp->buf);
	cpc_set_destroy(cpc, lwp->set);
	lwp->set = NULL;
}

/* An LWP exits; its totals stay. */
static void lwp_exits(void *arg)
{
	struct cpci_region_lwp *lwp = arg;

	self = NULL;
	drop_set(lwp);
	free(lwp->frame);
	free(lwp->by_id);
	lwp->frame = NULL;
	lwp->by_id = NULL;
}

/* The child starts without counts and outside of all regions: those belong to its parent. */
static void in_child(void)
{
	if (last_lwp != NULL) {
		last_lwp->next = parent_lwps;
		parent_lwps = lwps;
	}
	lwps = NULL;
	last_lwp = NULL;
	self = NULL;
	pthread_setspecific(lwp_key, NULL);
}

/* Set-user-ID programs ignore the environment, and count nothing. */
static void read_environment(void)
{
	const char *mode = getenv("CPC_REGIONS");
	size_t n;

	if (mode == NULL || *mode == '\0')
		mode = "table";
	if (getauxval(AT_SECURE) != 0)
		mode = "off";
	n = strcspn(mode, ":");
	report_json = n == 4 && memcmp(mode, "json", n) == 0;
	if (!report_json && !(n == 5 && memcmp(mode, "table", n) == 0)) {
		if (strcmp(mode, "off") != 0)
			fprintf(stderr,
				"cpc_region: invalid CPC_REGIONS '%s': expected off, table, json, "
				"table:FILE or json:FILE\n",
				mode);
		cpc_region_off = 1;
	}
	/* A copy, because the program may change its environment. */
	if (mode[n] == ':' && mode[n + 1] != '\0')
		report_file = strdup(mode + n + 1);
}

static void init(void)
{
	read_environment();
	if (!cpc_region_off && pthread_key_create(&lwp_key, lwp_exits) != 0)
		cpc_region_off = 1;
	if (!cpc_region_off)
		atexit(report_regions);
}

static int open_library(void)
{
	if (cpc != NULL)
		return 0;
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		return -1;
	cpc_seterrhndlr(cpc, keep_message);
	/* Registered after libcpc's own handlers, so that those unbind the child's sets first. */
	pthread_atfork(NULL, NULL, in_child);
	all_events = cpc_set_create(cpc);
	return all_events != NULL ? 0 : -1;
}

/* ---- regions and their events; the caller holds the lock ----------------------------- */

/* The index of an event in the list of all, which it is added to; -1: see reason(). */
static int find_event(const char *name, size_t n, uint_t flags)
{
	char *copy;
	unsigned i;

	for (i = 0; i < nevents; i++) {
		if (events[i].flags == flags && strlen(events[i].name) == n &&
		    memcmp(events[i].name, name, n) == 0)
			return (int)i;
	}
	copy = strndup(name, n);
	if (copy == NULL || cpc_set_add_request(cpc, all_events, copy, 0, flags, 0, NULL) == -1) {
		free(copy);
		return -1;
	}
	events[i].name = copy;
	events[i].flags = flags;
	nevents++;
	return (int)i;
}

static int add_event(struct cpci_region *region, const char *name, size_t n, uint_t flags)
{
	int id;

	if (region->nevents == CPCI_REGION_EVENTS)
		return cpci_errno(E2BIG);
	id = find_event(name, n, flags);
	if (id == -1)
		return -1;
	region->event_id[region->nevents] = (unsigned)id;
	region->event[region->nevents++] = events[id].name;
	return 0;
}

/* "event,event,sys,nouser".  The flags apply to all events, so a first pass reads them. */
static int read_events(struct cpci_region *region)
{
	uint_t flags = CPC_COUNT_USER;

	for (int pass = 0; pass < 2; pass++) {
		const char *p = region->events;

		while (*p != '\0') {
			size_t n = cpc_word_length(p);

			if (n == 3 && memcmp(p, "sys", n) == 0)
				flags |= CPC_COUNT_SYSTEM;
			else if (n == 6 && memcmp(p, "nouser", n) == 0)
				flags &= ~(uint_t)CPC_COUNT_USER;
			else if (pass == 1 && add_event(region, p, n, flags) == -1)
				return -1;
			p += n + (p[n] == ',');
		}
	}
	errno = EINVAL;
	return region->nevents > 0 ? 0 : -1;
}

static struct cpci_region *find_region(const struct cpc_region_site *site)
{
	_Atomic(struct cpci_region *) *end = &regions;
	struct cpci_region *region;

	for (; *end != NULL; end = &region->next) {
		region = *end;
		if (strcmp(region->name, site->name) == 0 &&
		    strcmp(region->events, site->events) == 0)
			return region;
	}
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return NULL;
	/* Copies, because the site may be in a library that is unloaded. */
	region->name = strdup(site->name);
	region->events = strdup(site->events);
	region->id = nregions;
	if (region->name == NULL || region->events == NULL)
		return NULL;
	message[0] = '\0';
	if (open_library() == -1 || read_events(region) == -1) {
		region->error = reason(errno);
		region->nevents = 0;
	}
	nregions++;
	*end = region;
	return region;
}

/* ---- LWPs ------------------------------------------------------------------------- */

static struct cpci_region_lwp *new_lwp(void)
{
	struct cpci_region_lwp *lwp = calloc(1, sizeof(*lwp));

	if (lwp == NULL || pthread_setspecific(lwp_key, lwp) != 0) {
		free(lwp);
		return NULL;
	}
	lwp->tid = (pid_t)_lwp_self();
	cpci_lock();
	*(last_lwp != NULL ? &last_lwp->next : &lwps) = lwp;
	last_lwp = lwp;
	cpci_unlock();
	self = lwp;
	return lwp;
}

static struct cpci_region_total *find_total(struct cpci_region_lwp *lwp,
					    const struct cpci_region *region)
{
	_Atomic(struct cpci_region_total *) *end = &lwp->totals;
	struct cpci_region_total *total;

	if (region->id < lwp->nby_id && lwp->by_id[region->id] != NULL)
		return lwp->by_id[region->id];
	if (region->id >= lwp->nby_id) {
		unsigned n = region->id + 8;
		struct cpci_region_total **more =
			recallocarray(lwp->by_id, lwp->nby_id, n, sizeof(*more));

		if (more == NULL)
			return NULL;
		lwp->by_id = more;
		lwp->nby_id = n;
	}
	total = calloc(1, sizeof(*total));
	if (total == NULL)
		return NULL;
	total->region = region;
	while (*end != NULL)
		end = &(*end)->next;
	*end = total;
	lwp->by_id[region->id] = total;
	return total;
}

/* Only this LWP writes its totals: no atomic read-modify-write is needed. */
static void add_to(_Atomic uint64_t *value, uint64_t n)
{
	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Keeps the first reason why an entry was not counted. */
static void keep_error(struct cpci_region_total *total, int err)
{
	if (total->error == NULL)
		total->error = reason(err);
}

static int sample(struct cpci_region_lwp *lwp)
{
	message[0] = '\0';
	return cpc_set_sample(cpc, lwp->set, lwp->buf);
}

/* Starts counting in a frame, at the values of the last sample. */
static void start_frame(struct cpci_region_lwp *lwp, struct cpci_region_frame *frame)
{
	const struct cpci_region *region = frame->total->region;

	for (unsigned i = 0; i < region->nevents; i++)
		cpc_buf_get(cpc, lwp->buf, lwp->request[region->event_id[i]], &frame->start[i]);
}

/* Adds the counts from the start of a frame to the last sample to its sums. */
static void stop_frame(struct cpci_region_lwp *lwp, struct cpci_region_frame *frame)
{
	const struct cpci_region *region = frame->total->region;

	for (unsigned i = 0; i < region->nevents; i++) {
		uint64_t value = 0;

		cpc_buf_get(cpc, lwp->buf, lwp->request[region->event_id[i]], &value);
		frame->sum[i] += value - frame->start[i];
	}
}

/* Samples the set and calls start_frame() or stop_frame() for each frame from `first` on. */
static void each_frame(struct cpci_region_lwp *lwp, unsigned first,
		       void (*action)(struct cpci_region_lwp *lwp, struct cpci_region_frame *frame))
{
	bool sampled = lwp->set != NULL && sample(lwp) == 0;
	int err = errno;

	for (unsigned i = first; i < lwp->depth; i++) {
		struct cpci_region_frame *frame = &lwp->frame[i];

		if (!frame->counting)
			continue;
		if (sampled) {
			action(lwp, frame);
		} else {
			keep_error(frame->total, err);
			frame->counting = false;
		}
	}
}

/* Does the LWP's set count all events of the region? */
static bool has_events(const struct cpci_region_lwp *lwp, const struct cpci_region *region)
{
	for (unsigned i = 0; i < region->nevents; i++) {
		if (lwp->set == NULL || lwp->request[region->event_id[i]] == -1)
			return false;
	}
	return true;
}

static int add_requests(cpc_set_t *set, const struct cpci_region *region, int *request)
{
	for (unsigned i = 0; i < region->nevents; i++) {
		unsigned id = region->event_id[i];

		if (request[id] == -1)
			request[id] = cpc_set_add_request(cpc, set, events[id].name, 0,
							  events[id].flags, 0, NULL);
		if (request[id] == -1)
			return -1;
	}
	return 0;
}

/* A set with the events of a region, and of the regions that the LWP is in. */
static cpc_set_t *set_of_current(const struct cpci_region_lwp *lwp,
				 const struct cpci_region *region, int *request)
{
	cpc_set_t *set = cpc_set_create(cpc);
	int rc;

	for (unsigned i = 0; i < CPCI_REGION_ALL_EVENTS; i++)
		request[i] = -1;
	if (set == NULL)
		return NULL;
	rc = add_requests(set, region, request);
	for (unsigned i = lwp->depth; i-- > 0 && rc == 0;) {
		if (lwp->frame[i].counting)
			rc = add_requests(set, lwp->frame[i].total->region, request);
	}
	if (rc == 0)
		return set;
	cpc_set_destroy(cpc, set);
	return NULL;
}

/* A set with the events of all regions that any LWP has entered so far. */
static cpc_set_t *set_of_all(int *request)
{
	cpc_set_t *set;

	cpci_lock();
	set = cpc_set_dup(cpc, all_events);
	for (unsigned i = 0; i < CPCI_REGION_ALL_EVENTS; i++)
		request[i] = i < nevents ? (int)i : -1;
	cpci_unlock();
	return set;
}

/*
 * An LWP has one set, which counts all regions that the LWP is in.  It has the events of all
 * known regions, so that it seldom changes; if the kernel refuses that, only those of the
 * regions that the LWP is in now.
 */
static int bind_set(struct cpci_region_lwp *lwp, const struct cpci_region *region)
{
	int request[CPCI_REGION_ALL_EVENTS];

	for (int tries = 0; tries < 2; tries++) {
		cpc_set_t *set;
		cpc_buf_t *buf;

		message[0] = '\0';
		set = tries == 0 ? set_of_all(request) : set_of_current(lwp, region, request);
		buf = set != NULL ? cpc_buf_create(cpc, set) : NULL;
		if (buf != NULL && cpc_bind_curlwp(cpc, set, 0) == 0) {
			drop_set(lwp);
			lwp->set = set;
			lwp->buf = buf;
			memcpy(lwp->request, request, sizeof(request));
			return 0;
		}
		if (buf != NULL)
			cpc_buf_destroy(cpc, buf);
		if (set != NULL)
			cpc_set_destroy(cpc, set);
	}
	return -1;
}

/* ---- enter and leave ---------------------------------------------------------------- */

static struct cpci_region_frame *push_frame(struct cpci_region_lwp *lwp,
					    struct cpci_region_total *total)
{
	struct cpci_region_frame *frame;

	if (lwp->depth == lwp->nframes) {
		unsigned n = lwp->nframes * 2 + 8;

		frame = reallocarray(lwp->frame, n, sizeof(*frame));
		if (frame == NULL)
			return NULL;
		lwp->frame = frame;
		lwp->nframes = n;
	}
	frame = &lwp->frame[lwp->depth];
	*frame = (struct cpci_region_frame){.total = total};
	return frame;
}

static bool enter_region(struct cpci_region_lwp *lwp, struct cpci_region_total *total)
{
	struct cpci_region_frame *frame = total != NULL ? push_frame(lwp, total) : NULL;
	const struct cpci_region *region;

	if (frame == NULL)
		return false;
	region = total->region;
	add_to(&total->entries, 1);
	frame->outermost = total->open == 0;
	add_to(&total->open, 1);
	if (frame->outermost && region->error == NULL && !has_events(lwp, region) &&
	    total->error == NULL && bind_set(lwp, region) == -1)
		keep_error(total, errno);
	frame->counting = frame->outermost && region->error == NULL && has_events(lwp, region);
	lwp->depth++;
	return true;
}

/*
 * The first entry of a region in this LWP, or an entry for which the LWP's set lacks events.
 * The enclosing regions stop counting meanwhile.
 */
static bool enter_first(struct cpc_region_site *site)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cpci_region *region;
	struct cpci_region_lwp *lwp;
	bool entered;

	pthread_once(&once, init);
	if (cpc_region_off)
		return false;
	if (self != NULL && self->depth > 0)
		each_frame(self, 0, stop_frame);
	cpci_lock();
	region = find_region(site);
	cpci_unlock();
	__atomic_store_n(&site->region, region, __ATOMIC_RELEASE);
	lwp = self != NULL ? self : new_lwp();
	if (lwp == NULL)
		return false;
	lwp->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	entered = region != NULL && enter_region(lwp, find_total(lwp, region));
	/* Sample twice: the first sample of a process can fault after it has read the counters. */
	each_frame(lwp, 0, start_frame);
	each_frame(lwp, 0, start_frame);
	return entered;
}

/* Can the LWP enter the region without memory, a lock or another set? */
static bool can_enter_at_once(const struct cpci_region_lwp *lwp, const struct cpci_region *region)
{
	const struct cpci_region_total *total;

	if (lwp == NULL || region == NULL || region->id >= lwp->nby_id ||
	    lwp->depth == lwp->nframes)
		return false;
	total = lwp->by_id[region->id];
	return total != NULL && (region->error != NULL || total->error != NULL || total->open > 0 ||
				 has_events(lwp, region));
}

int cpc_region_begin(struct cpc_region_site *site)
{
	struct cpci_region_lwp *lwp = self;
	const struct cpci_region *region;
	int err = errno;
	bool entered;

	if (lwp != NULL && lwp->busy)
		return 0;
	if (lwp != NULL)
		lwp->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	region = __atomic_load_n(&site->region, __ATOMIC_ACQUIRE);
	if (can_enter_at_once(lwp, region)) {
		entered = enter_region(lwp, lwp->by_id[region->id]);
		if (lwp->frame[lwp->depth - 1].counting)
			each_frame(lwp, lwp->depth - 1, start_frame);
	} else {
		entered = enter_first(site);
		lwp = self;
	}
	atomic_signal_fence(memory_order_seq_cst);
	if (lwp != NULL)
		lwp->busy = false;
	errno = err;
	return entered;
}

/* Adds the counts of the outermost entry of a region to the region's total. */
static void add_frame(struct cpci_region_lwp *lwp, struct cpci_region_frame *frame)
{
	struct cpci_region_total *total = frame->total;

	if (!frame->outermost) {
		total->nested++;
		return;
	}
	if (!frame->counting)
		return;
	if (sample(lwp) == -1) {
		keep_error(total, errno);
		return;
	}
	stop_frame(lwp, frame);
	for (unsigned i = 0; i < total->region->nevents; i++)
		add_to(&total->count[i], frame->sum[i]);
	add_to(&total->counted, total->nested + 1);
}

void cpc_region_end(const char *name)
{
	struct cpci_region_lwp *lwp = self;
	unsigned at = lwp != NULL ? lwp->depth : 0;
	int err = errno;

	if (lwp == NULL || lwp->busy)
		return;
	do {
		if (at-- == 0)
			return;
	} while (strcmp(lwp->frame[at].total->region->name, name) != 0);
	lwp->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	add_frame(lwp, &lwp->frame[at]);
	while (lwp->depth > at) {
		struct cpci_region_total *total = lwp->frame[--lwp->depth].total;

		add_to(&total->open, (uint64_t)-1);
		if (total->open == 0)
			total->nested = 0;
	}
	atomic_signal_fence(memory_order_seq_cst);
	lwp->busy = false;
	errno = err;
}
