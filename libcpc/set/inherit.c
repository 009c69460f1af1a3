/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * inherit.c - LWPs that inherit a set count with copies of it.
 *
 * The program does not see copies: given the set that it bound, the library uses the calling
 * LWP's copy.  A family is a bound set and all its copies.  Only its own LWP uses a copy, and
 * without a lock.  So unbinding the set replaces the files of the copies by one that is at
 * end of file, which looks as if another program took the counters; each LWP frees its copy
 * when it exits or binds another set.
 */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lock protects all members, unless stated otherwise. */
struct cpci_family {
	cpc_set_t *set;		    /* NULL: it is unbound */
	uint_t refs;		    /* of the set and of each copy */
	int file;		    /* a file that is at end of file; -1: closed */
	atomic_bool lost;	    /* the counts of some LWP are missing */
	uint64_t *preset;	    /* per request, as at the bind */
	uint64_t *sum;		    /* the counts of copies that have ended */
	uint64_t *raw;		    /* space for reading a group */
	uint64_t ns;		    /* the time for which they counted */
	uint64_t nlost, nthrottled; /* of their overflows that were not taken */
};

struct cpci_copy {
	cpc_set_t set; /* its fd is NULL before it begins and after it ends */
	struct cpci_link link;
	LIST_ENTRY(cpci_copy) entry;
};

/* The copies with open files, of all families. */
static LIST_HEAD(, cpci_copy) copies = LIST_HEAD_INITIALIZER(copies);

/* ---- families ------------------------------------------------------------------------- */

struct cpci_family *cpci_family_new(cpc_set_t *set, const uint64_t *start)
{
	size_t n = set->plan->nreqs;
	struct cpci_family *family;
	int end[2];

	family = calloc(1, sizeof(*family) + (2 * n + CPCI_RAW_VALUES + set->plan->nterms) *
						     sizeof(uint64_t));
	if (family == NULL)
		return NULL;
	if (pipe2(end, O_CLOEXEC) == -1) {
		free(family);
		return NULL;
	}
	close(end[1]);
	family->file = end[0];
	family->set = set;
	family->refs = 1;
	family->preset = (uint64_t *)(family + 1);
	family->sum = family->preset + n;
	family->raw = family->sum + n;
	memcpy(family->preset, start, n * sizeof(*start));
	memcpy(family->sum, start, n * sizeof(*start));
	return family;
}

static void close_file(struct cpci_family *family)
{
	if (family->file != -1)
		close(family->file);
	family->file = -1;
}

void cpci_family_drop(struct cpci_family *family)
{
	if (family == NULL || --family->refs > 0)
		return;
	close_file(family);
	free(family);
}

/* Frees the counters but keeps the file numbers, which the LWP may be using. */
static void take_away(struct cpci_copy *copy)
{
	const cpc_set_t *set = &copy->set;

	copy->link.set = NULL;
	copy->set.bound = CPCI_UNBOUND;
	cpci_group_stop(set->plan, set->fd);
	if (set->pcbuf != NULL)
		cpci_pcbuf_cut(set->pcbuf, set->family->file);
	for (uint_t i = 0; i <= set->plan->nterms; i++) {
		if (set->fd[i] != -1)
			dup3(set->family->file, set->fd[i], O_CLOEXEC);
	}
}

void cpci_family_end(cpc_set_t *set)
{
	struct cpci_copy *copy;

	if (set->family == NULL)
		return;
	LIST_FOREACH(copy, &copies, entry) {
		if (copy->set.family == set->family && copy->set.bound != CPCI_UNBOUND)
			take_away(copy);
	}
	close_file(set->family);
	set->family->set = NULL;
}

/* ---- the end of a copy ---------------------------------------------------------------- */

static void close_files(struct cpci_copy *copy)
{
	cpc_set_t *set = &copy->set;

	if (set->fd == NULL)
		return;
	LIST_REMOVE(copy, entry);
	cpci_pics_cut(set);
	cpci_group_unmap(set->plan, set->page);
	cpci_group_close(set->plan, set->fd);
	cpci_pcbuf_close(set->pcbuf);
	set->page = NULL;
	set->pcbuf = NULL;
	set->fd = NULL;
}

static void add_losses(const struct cpci_pcbuf *pcbuf, uint64_t *nlost, uint64_t *nthrottled)
{
	if (pcbuf == NULL)
		return;
	*nlost += cpci_pcbuf_lost(pcbuf);
	*nthrottled += cpci_pcbuf_throttled(pcbuf);
}

void cpci_copy_unbind(cpc_set_t *set)
{
	struct cpci_copy *copy = (struct cpci_copy *)set;
	struct cpci_family *family = set->family;
	sigset_t old;

	/* For the same reason as in cpci_unbind(). */
	if (set->plan->noverflows > 0)
		cpci_block_signals(&old);
	set->bound = CPCI_UNBOUND;
	copy->link.set = NULL;
	atomic_signal_fence(memory_order_release);
	cpci_group_stop(set->plan, set->fd);
	cpci_overflow_end(set);
	if (set->pcbuf != NULL)
		cpci_pcbuf_abandon(set->pcbuf);
	if (set->plan->noverflows > 0)
		cpci_unblock_signals(&old);
	if (cpci_set_count(set, family->raw, family->sum, &family->ns) == -1)
		family->lost = true;
	add_losses(set->pcbuf, &family->nlost, &family->nthrottled);
	close_files(copy);
}

static void free_copy(struct cpci_copy *copy)
{
	int cancel = cpci_lock();

	if (copy->set.bound != CPCI_UNBOUND)
		cpci_copy_unbind(&copy->set);
	close_files(copy);
	cpci_family_drop(copy->set.family);
	cpci_unlock(cancel);
	cpci_overflow_free(copy->set.overflow);
	cpci_plan_drop(copy->set.plan);
	free(copy->set.pic);
	free(copy->set.why);
	free(copy);
}

/* Its LWP exits, or binds another set. */
static void on_last_use(struct cpci_link *link)
{
	free_copy((struct cpci_copy *)((char *)link - offsetof(struct cpci_copy, link)));
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
		if (!cpci_link_is_own(&copy->link))
			free_copy(copy); /* its LWP is not in this process */
	}
}

/* ---- the start of a copy ----------------------------------------------------------------------
 */

static struct cpci_copy *copy_of(const cpc_set_t *own)
{
	struct cpci_copy *copy = calloc(1, sizeof(*copy) + cpci_set_room(own->plan));
	cpc_set_t *set;

	if (copy == NULL)
		return NULL;
	set = &copy->set;
	set->cpc = own->cpc;
	set->origin = own->origin;
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
	copy->link.free = on_last_use;
	return copy;
}

struct cpci_copy *cpci_copy_new(void)
{
	struct cpci_copy *copy = NULL;
	cpc_set_t *own;
	int cancel;

	if (cpci_link_own() == NULL)
		return NULL;
	cancel = cpci_lock();
	own = cpci_link_own();
	if (own != NULL && own->family != NULL) {
		copy = copy_of(own);
		if (copy == NULL)
			own->family->lost = true;
	}
	cpci_unlock(cancel);
	return copy;
}

void cpci_copy_cancel(struct cpci_copy *copy)
{
	free_copy(copy);
}

void cpci_copy_lose(struct cpci_copy *copy)
{
	copy->set.family->lost = true;
	free_copy(copy);
}

/* A copy without counters remains, so that sampling it fails. */
static void mark_lost(cpc_set_t *set, int err)
{
	set->err = err;
	set->epoch = CPCI_EPOCH_OVER;
	set->family->lost = true;
}

/* Prepares what the counters of a copy need.  -1 and errno. */
static int prepare_counters(cpc_set_t *set, uint64_t sample_type)
{
	struct cpci_diag diag;

	if (sample_type != 0) {
		set->pcbuf = cpci_pcbuf_open(set->plan, sample_type, set->fd,
					     cpci_overflow_prepare(), true, &diag);
		if (set->pcbuf == NULL) {
			set->why = strdup(diag.text);
			errno = diag.err;
			return -1;
		}
	}
	set->page = cpci_group_map(set->plan, set->fd);
	return cpci_overflow_notify(set);
}

static int open_counters(cpc_set_t *set)
{
	const struct cpci_opening opening = {.bp = set->origin->bp,
					     .preset = set->family->preset,
					     .sample_type = cpci_pcbuf_sample_type(set->plan)};
	const struct cpci_target target = {.tid = 0, .cpu = -1};
	struct cpci_term_ref bad;

	set->fd = (int *)&set->start[set->plan->nreqs];
	if (cpci_group_open(set->plan, target, &opening, set->fd, &bad) == 0) {
		if (prepare_counters(set, opening.sample_type) == 0) {
			if (set->plan->noverflows > 0)
				cpci_overflow_hold(set);
			return 0;
		}

		int err = errno;

		cpci_group_unmap(set->plan, set->page);
		cpci_group_close(set->plan, set->fd);
		cpci_pcbuf_close(set->pcbuf);
		set->page = NULL;
		set->pcbuf = NULL;
		errno = err;
	}
	for (uint_t i = 0; i <= set->plan->nterms; i++)
		set->fd[i] = -1;
	return -1;
}

/* Does everything but start the counters.  False: the set has no counters. */
static bool attach(struct cpci_copy *copy)
{
	cpc_set_t *set = &copy->set;
	int err;

	if (set->family->set == NULL) { /* it was unbound meanwhile */
		free_copy(copy);
		return false;
	}
	set->owner = cpci_self();
	set->target = set->owner;
	/* First: if the library cannot see the LWP's exit, its files would never be closed. */
	err = cpci_link_prepare() == -1 ? errno : 0;
	if (open_counters(set) == -1)
		err = errno;
	if (err != 0)
		mark_lost(set, err);
	LIST_INSERT_HEAD(&copies, copy, entry);
	set->bound = CPCI_LWP;
	copy->link.set = set;
	cpci_link_set_own(&copy->link);
	return err == 0;
}

/*
 * Starts the counters last, right before the program's function: everything after it is
 * counted.
 */
void cpci_copy_begin(struct cpci_copy *copy, void *pc)
{
	cpc_set_t *set = &copy->set;
	bool counts, sends_emt;
	int cancel, locked;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	locked = cpci_lock();
	counts = attach(copy);
	cpci_unlock(locked);
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

static int count_all(cpc_t *cpc, const cpc_set_t *set, cpc_buf_t *buf)
{
	const struct cpci_family *family = set->family;
	const struct cpci_copy *copy;
	uint64_t ns = family->ns;

	memcpy(buf->val, family->sum, set->plan->nreqs * sizeof(*buf->val));
	buf->npcs = 0;
	buf->nlost = family->nlost;
	buf->nthrottled = family->nthrottled;
	add_losses(set->pcbuf, &buf->nlost, &buf->nthrottled);
	if (cpci_set_count(set, buf->raw, buf->val, &ns) == -1)
		return -1;
	LIST_FOREACH(copy, &copies, entry) {
		if (copy->set.family != family || copy->set.bound == CPCI_UNBOUND)
			continue;
		if (cpci_set_count(&copy->set, buf->raw, buf->val, &ns) == -1)
			return -1;
		add_losses(copy->set.pcbuf, &buf->nlost, &buf->nthrottled);
	}
	buf->hrtime = cpci_now();
	buf->tick = cpci_cycles(&cpc->clock, ns);
	if (!family->lost && cpci_epoch_check(&set->epoch, buf->hrtime))
		return 0;
	errno = EAGAIN;
	return -1;
}

int cpc_set_sample_all(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	int rc = -1, cancel = cpci_lock();

	if (set->cpc == cpc && set->bound == CPCI_LWP && set->family != NULL &&
	    buf->plan == set->plan)
		rc = count_all(cpc, set, buf);
	else
		errno = EINVAL;
	cpci_unlock(cancel);
	return rc;
}

int cpc_set_ncopies(cpc_t *cpc, const cpc_set_t *set)
{
	int n = -1, cancel = cpci_lock();

	if (set->cpc == cpc && set->bound == CPCI_LWP && set->family != NULL)
		n = (int)set->family->refs - 1;
	cpci_unlock(cancel);
	return n >= 0 ? n
		      : cpci_failf(cpc, "cpc_set_ncopies", EINVAL, 0,
				   "the set is not bound for LWPs to inherit it");
}
