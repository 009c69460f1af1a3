/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * inherit.c - LWPs that inherit a set count with copies of it.
 *
 * The program does not see copies: it passes the set that it bound, and the library uses the
 * calling LWP's copy.  A family is a bound set and all its copies.
 *
 * Only its own LWP uses a copy, without a lock.  So if another LWP unbinds the set, it cannot free
 * the copies.  It replaces their files by one that is at end of file, which looks as if another
 * program had taken the counters.  Each LWP frees its copy when it exits or binds another set.
 */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The lock protects all members, unless stated otherwise. */
struct cpci_family {
	uint_t refs;		    /* of the set and of each copy */
	const cpc_set_t *set;	    /* the bound set, which is no copy */
	int end_file;		    /* a file that is at end of file; -1: the set is unbound */
	atomic_bool lost;	    /* the counts of some LWP are missing */
	uint64_t *preset;	    /* per request, as at the bind */
	uint64_t *sum;		    /* the presets and the counts of copies that have ended */
	uint64_t *raw;		    /* space for reading a group */
	uint64_t ns;		    /* the time for which copies that have ended counted */
	uint64_t nlost, nthrottled; /* overflows of copies that have ended */
};

struct cpci_copy {
	cpc_set_t set; /* its fd is NULL before it begins and after it ends */
	struct cpci_link link;
	LIST_ENTRY(cpci_copy) entry;
};

/* The copies with open files, of all families. */
static LIST_HEAD(, cpci_copy) copies = LIST_HEAD_INITIALIZER(copies);

/* ---- families ------------------------------------------------------------------------- */

struct cpci_family *cpci_family_new(const cpc_set_t *set)
{
	const struct cpci_plan *plan = set->plan;
	const size_t n = plan->nreqs;
	struct cpci_family *family;

	family = calloc(1, sizeof(*family) +
				   (2 * n + CPCI_RAW_VALUES + plan->nterms) * sizeof(uint64_t));
	if (family == NULL)
		return NULL;
	family->end_file = memfd_create("cpc-end", MFD_CLOEXEC);
	if (family->end_file == -1) {
		free(family);
		return NULL;
	}
	family->refs = 1;
	family->set = set;
	family->preset = (uint64_t *)(family + 1);
	family->sum = family->preset + n;
	family->raw = family->sum + n;
	memcpy(family->preset, set->preset, n * sizeof(*family->preset));
	memcpy(family->sum, set->preset, n * sizeof(*family->sum));
	return family;
}

static void close_end_file(struct cpci_family *family)
{
	if (family->end_file != -1)
		close(family->end_file);
	family->end_file = -1;
}

void cpci_family_drop(struct cpci_family *family)
{
	if (family == NULL || --family->refs > 0)
		return;
	close_end_file(family);
	free(family);
}

bool cpci_family_is_alone(const struct cpci_family *family)
{
	return family == NULL || family->refs == 1;
}

/* Frees the counters but keeps the file numbers, which the LWP may be using. */
static void revoke_copy(struct cpci_copy *copy)
{
	const cpc_set_t *set = &copy->set;

	copy->link.set = NULL;
	copy->set.bound = CPCI_UNBOUND;
	cpci_group_stop(set->plan, set->fd);
	if (set->pcbuf != NULL)
		cpci_pcbuf_revoke(set->pcbuf, set->family->end_file);
	for (uint_t i = 0; i <= set->plan->nterms; i++) {
		if (set->fd[i] != -1)
			dup3(set->family->end_file, set->fd[i], O_CLOEXEC);
	}
}

void cpci_family_end(cpc_set_t *set)
{
	struct cpci_copy *copy;

	if (set->family == NULL)
		return;
	LIST_FOREACH(copy, &copies, entry) {
		if (copy->set.family == set->family && copy->set.bound != CPCI_UNBOUND)
			revoke_copy(copy);
	}
	close_end_file(set->family);
}

/* ---- the end of a copy ---------------------------------------------------------------- */

static void close_counters(cpc_set_t *set)
{
	cpci_group_unmap(set->plan, set->page);
	cpci_group_close(set->plan, set->fd);
	cpci_pcbuf_close(set->pcbuf);
	set->page = NULL;
	set->pcbuf = NULL;
}

static void close_files(struct cpci_copy *copy)
{
	cpc_set_t *set = &copy->set;

	if (set->fd == NULL)
		return;
	LIST_REMOVE(copy, entry);
	cpci_pics_unmap(set);
	close_counters(set);
	set->fd = NULL;
}

void cpci_copy_unbind(cpc_set_t *set)
{
	struct cpci_copy *copy = (struct cpci_copy *)set;
	struct cpci_family *family = set->family;

	cpci_set_stop(set);
	if (set->pcbuf != NULL)
		cpci_pcbuf_abandon(set->pcbuf);
	if (cpci_set_count(set, family->raw, family->sum, &family->ns) == -1)
		family->lost = true;
	cpci_pcbuf_add_losses(set->pcbuf, &family->nlost, &family->nthrottled);
	close_files(copy);
}

void cpci_copy_cancel(struct cpci_copy *copy)
{
	cpci_lock();
	if (copy->set.bound != CPCI_UNBOUND)
		cpci_copy_unbind(&copy->set);
	close_files(copy);
	cpci_family_drop(copy->set.family);
	cpci_unlock();
	free(copy->set.overflow);
	cpci_plan_drop(copy->set.plan);
	free(copy->set.pic);
	free(copy->set.why);
	free(copy);
}

/* Called when its LWP exits or binds another set. */
static void on_last_use(struct cpci_link *link)
{
	cpci_copy_cancel((struct cpci_copy *)((char *)link - offsetof(struct cpci_copy, link)));
}

void cpci_copies_forget(void)
{
	struct cpci_copy *copy;

	while ((copy = LIST_FIRST(&copies)) != NULL) {
		copy->link.set = NULL;
		copy->set.bound = CPCI_UNBOUND;
		if (copy->set.pcbuf != NULL)
			cpci_pcbuf_forked(copy->set.pcbuf);
		close_files(copy);
		if (&copy->link != cpci_link_mine)
			cpci_copy_cancel(copy); /* its LWP is not in this process */
	}
}

/* ---- the start of a copy -------------------------------------------------------------- */

static struct cpci_copy *copy_of(const cpc_set_t *own)
{
	struct cpci_copy *copy = calloc(1, sizeof(*copy) + cpci_set_room(own->plan));
	cpc_set_t *set;

	if (copy == NULL)
		return NULL;
	set = &copy->set;
	set->cpc = own->cpc;
	set->origin = own->origin;
	set->copy = true;
	set->off = own->off;
	set->epoch = own->epoch;
	set->epoch.taken = false; /* it ends when the original set is unbound */
	set->tick_source = own->tick_source;
	set->start = (uint64_t *)(copy + 1);
	memcpy(set->start, own->family->preset, own->plan->nreqs * sizeof(*set->start));
	set->overflow = cpci_overflow_new(own->plan);
	if (set->overflow == NULL) {
		free(copy);
		return NULL;
	}
	set->plan = cpci_plan_hold(own->plan);
	set->family = own->family;
	set->family->refs++;
	set->link = &copy->link;
	copy->link.free = on_last_use;
	return copy;
}

struct cpci_copy *cpci_copy_new(void)
{
	struct cpci_copy *copy = NULL;
	cpc_set_t *own;

	if (cpci_link_own() == NULL)
		return NULL;
	cpci_lock();
	own = cpci_link_own();
	if (own != NULL && own->family != NULL) {
		copy = copy_of(own);
		if (copy == NULL)
			own->family->lost = true;
	}
	cpci_unlock();
	return copy;
}

void cpci_copy_lose(struct cpci_copy *copy)
{
	copy->set.family->lost = true;
	cpci_copy_cancel(copy);
}

/* A copy without counters remains, so that sampling it fails. */
static void mark_lost(cpc_set_t *set, int err)
{
	set->err = err;
	set->epoch = CPCI_EPOCH_OVER;
	set->family->lost = true;
}

/* Prepares what the counters of a copy need.  -1 and errno. */
static int prepare_counters(cpc_set_t *set)
{
	struct cpci_diag diag;

	if (set->plan->nbuffered > 0) {
		set->pcbuf = cpci_pcbuf_open(set->plan, set->fd, true, &diag);
		if (set->pcbuf == NULL) {
			set->why = strdup(diag.text);
			return cpci_errno(diag.err);
		}
	}
	set->page = cpci_group_map(set->plan, set->fd);
	return cpci_overflow_notify(set);
}

static void clear_files(cpc_set_t *set)
{
	for (uint_t i = 0; i <= set->plan->nterms; i++)
		set->fd[i] = -1;
}

static int open_counters(cpc_set_t *set)
{
	const struct cpci_opening opening = {.bp = set->family->set->bp,
					     .preset = set->family->preset,
					     .sample_type = cpci_pcbuf_sample_type(set->plan)};
	struct cpci_term_ref bad;

	if (cpci_group_open(set->plan, CPCI_TARGET_SELF, &opening, set->fd, &bad) == 0) {
		if (prepare_counters(set) == 0) {
			if (set->plan->noverflows > 0)
				cpci_overflow_hold(set);
			return 0;
		}

		int err = errno;

		close_counters(set);
		errno = err;
	}
	clear_files(set);
	return -1;
}

/* Makes the copy the calling LWP's set, but does not start it.  False: it has no counters. */
static bool attach(struct cpci_copy *copy, int err)
{
	cpc_set_t *set = &copy->set;

	if (set->family->end_file == -1) { /* it was unbound meanwhile */
		cpci_copy_cancel(copy);
		return false;
	}
	set->owner = cpci_self();
	set->target = set->owner;
	set->fd = (int *)&set->start[set->plan->nreqs];
	clear_files(set);
	if (err == 0 && open_counters(set) == -1)
		err = errno;
	if (err != 0)
		mark_lost(set, err);
	LIST_INSERT_HEAD(&copies, copy, entry);
	set->bound = CPCI_LWP;
	copy->link.set = set;
	cpci_link_set_own(&copy->link);
	return err == 0;
}

/* Starts the counters last, right before the program's function: everything after it is counted. */
void cpci_copy_begin(struct cpci_copy *copy, int err, void *pc)
{
	cpc_set_t *set = &copy->set;
	bool counts, sends_emt;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	cpci_lock();
	counts = attach(copy, err);
	cpci_unlock();
	sends_emt = counts && set->plan->noverflows > 0;
	if (counts && !sends_emt && !set->off) {
		if (cpci_group_start(set->plan, set->fd) == -1)
			mark_lost(set, errno);
		else if (cpci_group_lost(set->plan, set->fd) != -1)
			set->family->lost = true;
	}
	pthread_setcancelstate(cancel, NULL);
	if (sends_emt)
		cpci_emt_send_once((uintptr_t)pc);
}

/* ---- the sum ------------------------------------------------------------------------------ */

/* The family of the calling LWP's copy or twin; if it has none, of the set; or NULL. */
static struct cpci_family *family_of(const cpc_set_t *set)
{
	struct cpci_family *family = cpci_link_copy(set)->family;

	return family != NULL && family->end_file != -1 ? family : NULL;
}

static int count_all(cpc_t *cpc, struct cpci_family *family, cpc_buf_t *buf)
{
	const cpc_set_t *set = family->set;
	const struct cpci_copy *copy;
	uint64_t ns = family->ns;

	memcpy(buf->val, family->sum, set->plan->nreqs * sizeof(*buf->val));
	buf->npcs = 0;
	buf->nlost = family->nlost;
	buf->nthrottled = family->nthrottled;
	cpci_pcbuf_add_losses(set->pcbuf, &buf->nlost, &buf->nthrottled);
	if (cpci_set_count(set, family->raw, buf->val, &ns) == -1)
		return -1;
	LIST_FOREACH(copy, &copies, entry) {
		if (copy->set.family != family || copy->set.bound == CPCI_UNBOUND)
			continue;
		if (cpci_set_count(&copy->set, family->raw, buf->val, &ns) == -1)
			return -1;
		cpci_pcbuf_add_losses(copy->set.pcbuf, &buf->nlost, &buf->nthrottled);
	}
	buf->hrtime = cpci_now();
	buf->tick = cpci_cycles(&cpc->clock, ns);
	if (!family->lost && cpci_epoch_check(&set->epoch, buf->hrtime))
		return 0;
	return cpci_errno(EAGAIN);
}

int cpc_set_sample_all(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	struct cpci_family *family = NULL;
	int rc = -1;

	cpci_lock();
	if (cpci_is_set(cpc, set) && cpci_is_buf(cpc, buf))
		family = family_of(set);
	if (family != NULL && buf->nreqs == family->set->plan->nreqs)
		rc = count_all(cpc, family, buf);
	else
		errno = EINVAL;
	cpci_unlock();
	return rc;
}

int cpc_set_ncopies(cpc_t *cpc, const cpc_set_t *set)
{
	const struct cpci_family *family;
	int n = -1;

	if (cpci_check_set(cpc, "cpc_set_ncopies", set) == -1)
		return -1;
	cpci_lock();
	family = family_of(set);
	if (family != NULL)
		n = (int)family->refs - 1;
	cpci_unlock();
	return n >= 0 ? n
		      : cpci_failf(cpc, "cpc_set_ncopies", EINVAL, 0,
				   "the set is not bound for LWPs to inherit it");
}
