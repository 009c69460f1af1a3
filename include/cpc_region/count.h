/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region/count.h - the regions that an LWP is in: a part of cpc_region.h.
 */
#ifndef CPC_REGION_COUNT_H
#define CPC_REGION_COUNT_H

#include <cpc_region/start.h>
#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- regions and their events, with the lock held ------------------------------------ */

/* The number of an event that is counted somewhere, or -1: see cpc_region_why or errno. */
CPC_REGION_ONE_ int cpc_region_find_event(const char *name, size_t n, uint_t flags)
{
	char *copy;
	unsigned i;

	for (i = 0; i < cpc_region_events; i++) {
		if (cpc_region_event[i].flags == flags && strlen(cpc_region_event[i].name) == n &&
		    memcmp(cpc_region_event[i].name, name, n) == 0)
			return (int)i;
	}
	copy = cpc_region_copy(name, n);
	if (copy == NULL ||
	    cpc_set_add_request(cpc_region_cpc, cpc_region_all, copy, 0, flags, 0, NULL) == -1) {
		free(copy);
		return -1;
	}
	cpc_region_event[i].name = copy;
	cpc_region_event[i].flags = flags;
	cpc_region_events++;
	return (int)i;
}

/* The length of a word of an event list: commas between slashes belong to it. */
CPC_REGION_ONE_ size_t cpc_region_word(const char *p)
{
	size_t n;
	int slashes = 0;

	for (n = 0; p[n] != '\0' && (p[n] != ',' || slashes % 2 != 0); n++)
		slashes += p[n] == '/';
	return n;
}

/* "event,event,sys,nouser": the flags are for all events. */
CPC_REGION_ONE_ int cpc_region_read_events(struct cpc_region_info *info)
{
	uint_t flags = CPC_COUNT_USER;

	for (int pass = 0; pass < 2; pass++) {
		const char *p = info->events;

		while (*p != '\0') {
			size_t n = cpc_region_word(p);

			if (n == 3 && memcmp(p, "sys", n) == 0) {
				flags |= CPC_COUNT_SYSTEM;
			} else if (n == 6 && memcmp(p, "nouser", n) == 0) {
				flags &= ~(uint_t)CPC_COUNT_USER;
			} else if (pass == 1) {
				int event = info->n < CPC_REGION_MAX
						    ? cpc_region_find_event(p, n, flags)
						    : -1;

				if (info->n == CPC_REGION_MAX)
					errno = E2BIG;
				if (event == -1)
					return -1;
				info->event[info->n++] = (unsigned)event;
			}
			p += n + (p[n] == ',');
		}
	}
	errno = EINVAL;
	return info->n > 0 ? 0 : -1;
}

CPC_REGION_ONE_ struct cpc_region_info *cpc_region_make_info(const struct cpc_region_site *site)
{
	struct cpc_region_info *info, **end = &cpc_region_first;

	while (*end != NULL) {
		info = *end;
		if (strcmp(info->name, site->name) == 0 && strcmp(info->events, site->events) == 0)
			return info;
		end = &info->next;
	}
	info = (struct cpc_region_info *)calloc(1, sizeof(*info));
	if (info == NULL)
		return NULL;
	/* Copies: a library may be unloaded. */
	info->name = cpc_region_copy(site->name, strlen(site->name));
	info->events = cpc_region_copy(site->events, strlen(site->events));
	info->id = cpc_region_infos;
	if (info->name == NULL || info->events == NULL)
		return NULL;
	cpc_region_why[0] = '\0';
	if (cpc_region_open() == -1 || cpc_region_read_events(info) == -1) {
		info->error = cpc_region_reason(errno);
		info->n = 0;
	}
	cpc_region_infos++;
	__atomic_store_n(end, info, __ATOMIC_RELEASE);
	return info;
}

/* ---- LWPs ------------------------------------------------------------------------- */

CPC_REGION_ONE_ struct cpc_region_lwp *cpc_region_make_lwp(void)
{
	struct cpc_region_lwp *self = (struct cpc_region_lwp *)calloc(1, sizeof(*self));

	if (self == NULL || pthread_setspecific(cpc_region_key, self) != 0) {
		free(self);
		return NULL;
	}
	self->tid = (long)_lwp_self();
	pthread_mutex_lock(&cpc_region_lock);
	__atomic_store_n(cpc_region_last != NULL ? &cpc_region_last->next : &cpc_region_lwps, self,
			 __ATOMIC_RELEASE);
	cpc_region_last = self;
	pthread_mutex_unlock(&cpc_region_lock);
	cpc_region_self = self;
	return self;
}

CPC_REGION_ONE_ struct cpc_region_total *cpc_region_total_of(struct cpc_region_lwp *self,
							     const struct cpc_region_info *info)
{
	struct cpc_region_total *total, **end = &self->totals;

	if (info->id < self->n_by_id && self->by_id[info->id] != NULL)
		return self->by_id[info->id];
	if (info->id >= self->n_by_id) {
		unsigned n = info->id + 8;
		struct cpc_region_total **more = (struct cpc_region_total **)realloc(
			self->by_id, n * sizeof(struct cpc_region_total *));

		if (more == NULL)
			return NULL;
		memset(more + self->n_by_id, 0, (n - self->n_by_id) * sizeof(*more));
		self->by_id = more;
		self->n_by_id = n;
	}
	total = (struct cpc_region_total *)calloc(1, sizeof(*total));
	if (total == NULL)
		return NULL;
	total->info = info;
	while (*end != NULL)
		end = &(*end)->next;
	__atomic_store_n(end, total, __ATOMIC_RELEASE);
	self->by_id[info->id] = total;
	return total;
}

CPC_REGION_ONE_ void cpc_region_fails(struct cpc_region_total *total, int err)
{
	if (total->error == NULL)
		__atomic_store_n(&total->error, cpc_region_reason(err), __ATOMIC_RELEASE);
}

/* The counts of a frame's events now, or from `start` on.  The set has been sampled. */
CPC_REGION_ONE_ void cpc_region_read(struct cpc_region_lwp *self, struct cpc_region_frame *frame,
				     int begins)
{
	const struct cpc_region_info *info = frame->total->info;

	for (unsigned i = 0; i < info->n; i++) {
		uint64_t value = 0;

		cpc_buf_get(cpc_region_cpc, self->buf, self->request[info->event[i]], &value);
		if (begins)
			frame->start[i] = value;
		else
			frame->sum[i] += value - frame->start[i];
	}
}

/* What a frame counts begins now. */
CPC_REGION_ONE_ void cpc_region_start(struct cpc_region_lwp *self, struct cpc_region_frame *frame)
{
	if (cpc_set_sample(cpc_region_cpc, self->set, self->buf) == 0) {
		cpc_region_read(self, frame, 1);
		return;
	}
	cpc_region_why[0] = '\0';
	cpc_region_fails(frame->total, errno);
	frame->counts = 0;
}

/* All frames that count: what they have is added up, or they begin anew. */
CPC_REGION_ONE_ void cpc_region_read_all(struct cpc_region_lwp *self, int begins)
{
	int ok = self->set != NULL && cpc_set_sample(cpc_region_cpc, self->set, self->buf) == 0;
	int err = errno;

	for (unsigned i = 0; i < self->depth; i++) {
		struct cpc_region_frame *frame = &self->frame[i];

		if (!frame->counts)
			continue;
		if (ok) {
			cpc_region_read(self, frame, begins);
		} else {
			cpc_region_why[0] = '\0';
			cpc_region_fails(frame->total, err);
			frame->counts = 0;
		}
	}
}

/* Does the set of the LWP count all events of a region? */
CPC_REGION_ONE_ int cpc_region_has(const struct cpc_region_lwp *self,
				   const struct cpc_region_info *info)
{
	for (unsigned i = 0; i < info->n; i++) {
		if (self->set == NULL || self->request[info->event[i]] == -1)
			return 0;
	}
	return 1;
}

/* A set with the events of a region and of those that the LWP is in. */
CPC_REGION_ONE_ cpc_set_t *cpc_region_few(const struct cpc_region_lwp *self,
					  const struct cpc_region_info *info, int *request)
{
	cpc_set_t *set = cpc_set_create(cpc_region_cpc);
	unsigned at = self->depth;

	for (unsigned i = 0; i < CPC_REGION_MAX_EVENTS; i++)
		request[i] = -1;
	while (set != NULL) {
		for (unsigned i = 0; i < info->n; i++) {
			unsigned event = info->event[i];

			if (request[event] != -1)
				continue;
			request[event] = cpc_set_add_request(
				cpc_region_cpc, set, cpc_region_event[event].name, 0,
				cpc_region_event[event].flags, 0, NULL);
			if (request[event] == -1) {
				cpc_set_destroy(cpc_region_cpc, set);
				return NULL;
			}
		}
		do {
			if (at-- == 0)
				return set;
		} while (!self->frame[at].counts);
		info = self->frame[at].total->info;
	}
	return NULL;
}

/* A set with all events that any region has by now. */
CPC_REGION_ONE_ cpc_set_t *cpc_region_dup_all(int *request)
{
	cpc_set_t *set;

	pthread_mutex_lock(&cpc_region_lock);
	set = cpc_set_dup(cpc_region_cpc, cpc_region_all);
	for (unsigned i = 0; i < CPC_REGION_MAX_EVENTS; i++)
		request[i] = i < cpc_region_events ? (int)i : -1;
	pthread_mutex_unlock(&cpc_region_lock);
	return set;
}

/*
 * An LWP has one set.  So all regions that it is in are counted by one, with the events of
 * them all: of all regions that are known, lest it changes often; or, if that is refused,
 * of those that the LWP is in now.
 */
CPC_REGION_ONE_ int cpc_region_bind(struct cpc_region_lwp *self, const struct cpc_region_info *info)
{
	int request[CPC_REGION_MAX_EVENTS];

	for (int tries = 0; tries < 2; tries++) {
		cpc_set_t *set;
		cpc_buf_t *buf;
		int err;

		cpc_region_why[0] = '\0';
		set = tries == 0 ? cpc_region_dup_all(request)
				 : cpc_region_few(self, info, request);
		buf = set != NULL ? cpc_buf_create(cpc_region_cpc, set) : NULL;
		if (buf != NULL && cpc_bind_curlwp(cpc_region_cpc, set, 0) == 0) {
			cpc_region_drop_set(self);
			self->set = set;
			self->buf = buf;
			memcpy(self->request, request, sizeof(request));
			return 0;
		}
		err = errno;
		if (buf != NULL)
			cpc_buf_destroy(cpc_region_cpc, buf);
		if (set != NULL)
			cpc_set_destroy(cpc_region_cpc, set);
		errno = err;
	}
	return -1;
}

/* ---- begin and end ------------------------------------------------------------------ */

CPC_REGION_ONE_ struct cpc_region_frame *cpc_region_push(struct cpc_region_lwp *self,
							 struct cpc_region_total *total)
{
	struct cpc_region_frame *frame;

	if (self->depth == self->room) {
		unsigned room = self->room * 2 + 8;

		frame = (struct cpc_region_frame *)realloc(self->frame, room * sizeof(*frame));
		if (frame == NULL)
			return NULL;
		self->frame = frame;
		self->room = room;
	}
	frame = &self->frame[self->depth];
	memset(frame, 0, sizeof(*frame));
	frame->total = total;
	return frame;
}

CPC_REGION_ONE_ int cpc_region_begin(struct cpc_region_lwp *self, struct cpc_region_total *total)
{
	struct cpc_region_frame *frame = total != NULL ? cpc_region_push(self, total) : NULL;
	const struct cpc_region_info *info;

	if (frame == NULL)
		return -1;
	info = total->info;
	__atomic_store_n(&total->entries, total->entries + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&total->open, total->open + 1, __ATOMIC_RELAXED);
	frame->outer = total->open == 1;
	if (frame->outer && info->error == NULL && !cpc_region_has(self, info) &&
	    total->error == NULL && cpc_region_bind(self, info) == -1)
		cpc_region_fails(total, errno);
	frame->counts = frame->outer && info->error == NULL && cpc_region_has(self, info);
	self->depth++;
	return 0;
}

/* What the outermost entry of a region counted goes to the total, if it was counted. */
CPC_REGION_ONE_ void cpc_region_add(struct cpc_region_lwp *self, struct cpc_region_frame *frame)
{
	struct cpc_region_total *total = frame->total;

	if (!frame->outer) {
		total->inner++;
		return;
	}
	if (!frame->counts)
		return;
	if (cpc_set_sample(cpc_region_cpc, self->set, self->buf) == -1) {
		cpc_region_why[0] = '\0';
		cpc_region_fails(total, errno);
		return;
	}
	cpc_region_read(self, frame, 0);
	for (unsigned i = 0; i < total->info->n; i++)
		__atomic_store_n(&total->count[i], total->count[i] + frame->sum[i],
				 __ATOMIC_RELAXED);
	__atomic_store_n(&total->counted, total->counted + total->inner + 1, __ATOMIC_RELAXED);
}

/* Leaves the innermost region of that name, and whatever is open in it, uncounted. */
CPC_REGION_ONE_ void cpc_region_end(const char *name)
{
	struct cpc_region_lwp *self = cpc_region_self;
	unsigned at = self != NULL ? self->depth : 0;
	int err = errno;

	if (self == NULL || self->busy)
		return;
	do {
		if (at-- == 0)
			return;
	} while (strcmp(self->frame[at].total->info->name, name) != 0);
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cpc_region_add(self, &self->frame[at]);
	while (self->depth > at) {
		struct cpc_region_total *left = self->frame[--self->depth].total;

		__atomic_store_n(&left->open, left->open - 1, __ATOMIC_RELAXED);
		if (left->open == 0)
			left->inner = 0;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	errno = err;
}

/* For the first time in that region, or with another set: the regions around rest meanwhile. */
CPC_REGION_ONE_ int cpc_region_begin_rarely(struct cpc_region_site *site)
{
	struct cpc_region_lwp *self = cpc_region_self;
	struct cpc_region_info *info;
	int first = self == NULL, rc;

	if (!first && self->depth > 0)
		cpc_region_read_all(self, 0);
	pthread_mutex_lock(&cpc_region_lock);
	info = cpc_region_make_info(site);
	pthread_mutex_unlock(&cpc_region_lock);
	__atomic_store_n(&site->info, info, __ATOMIC_RELEASE);
	if (first)
		self = cpc_region_make_lwp();
	if (self == NULL)
		return -1;
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rc = info != NULL ? cpc_region_begin(self, cpc_region_total_of(self, info)) : -1;
	cpc_region_read_all(self, 1);
	return rc;
}

/* Is all there that the LWP needs for a region? */
CPC_REGION_ONE_ int cpc_region_is_ready(const struct cpc_region_lwp *self,
					const struct cpc_region_info *info)
{
	const struct cpc_region_total *total;

	if (self == NULL || info == NULL || info->id >= self->n_by_id || self->depth == self->room)
		return 0;
	total = self->by_id[info->id];
	return total != NULL && (info->error != NULL || total->error != NULL || total->open > 0 ||
				 cpc_region_has(self, info));
}

CPC_REGION_ONE_ int cpc_region_enter_slow(struct cpc_region_site *site)
{
	struct cpc_region_lwp *self = cpc_region_self;
	struct cpc_region_info *info;
	struct cpc_region_frame *frame;
	int entered, err = errno;

	if (!cpc_region_ready)
		cpc_region_init();
	if (cpc_region_off || (self != NULL && self->busy))
		return 0;
	if (self != NULL)
		self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	info = __atomic_load_n(&site->info, __ATOMIC_ACQUIRE);
	if (!cpc_region_is_ready(self, info)) {
		entered = cpc_region_begin_rarely(site) == 0;
		self = cpc_region_self;
	} else {
		entered = cpc_region_begin(self, self->by_id[info->id]) == 0;
		frame = &self->frame[self->depth - 1];
		if (frame->counts)
			cpc_region_start(self, frame);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (self != NULL)
		self->busy = 0;
	errno = err;
	return entered;
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_COUNT_H */
