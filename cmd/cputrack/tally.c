/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.c - what the LWPs and processes of a tree counted.
 */
#include "tally.h"

#include "../common/say.h"
#include "../common/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define FILES_BESIDE 32 /* open files that are not counters */

void tally_init(struct tally *tally, cpc_t *cpc, const struct setgrp *grp, bool debug)
{
	*tally = (struct tally){.cpc = cpc, .grp = grp};
	tally->symbols = symbols_new(cpc, grp, debug);
	LIST_INIT(&tally->procs);
	tally->now = xcalloc(grp->n, sizeof(cpc_buf_t *));
	tally->diff = xcalloc(grp->n, sizeof(cpc_buf_t *));
	for (size_t i = 0; i < grp->n; i++) {
		tally->now[i] = cpc_buf_create(cpc, grp->set[i].set);
		tally->diff[i] = cpc_buf_create(cpc, grp->set[i].set);
		if (tally->now[i] == NULL || tally->diff[i] == NULL)
			die("%s", strerror(errno));
	}
}

void tally_free(struct tally *tally)
{
	struct proc *proc;

	if (tally->files_each != 0)
		say("%zu LWP%s could not be counted; all could, with a limit of %zu files "
		    "(ulimit -n)",
		    tally->nrefused, tally->nrefused == 1 ? "" : "s",
		    tally->peak * tally->files_each + FILES_BESIDE);
	else if (tally->nrefused > 1)
		say("%zu LWPs could not be counted", tally->nrefused);
	if (tally->nlost > 1)
		say("the counters of %zu LWPs were lost", tally->nlost);
	while ((proc = LIST_FIRST(&tally->procs)) != NULL)
		tally_free_proc(tally, proc);
	for (size_t i = 0; i < tally->grp->n; i++) {
		cpc_buf_destroy(tally->cpc, tally->now[i]);
		cpc_buf_destroy(tally->cpc, tally->diff[i]);
	}
	symbols_free(tally->symbols);
	free(tally->now);
	free(tally->diff);
}

struct proc *tally_new_proc(struct tally *tally, pctx_t *pctx)
{
	struct proc *proc = xcalloc(1, sizeof(*proc) + tally->grp->n * sizeof(cpc_buf_t *));

	proc->pctx = pctx;
	proc->pid = pctx_pid(pctx);
	LIST_INIT(&proc->lwps);
	LIST_INSERT_HEAD(&tally->procs, proc, link);
	pctx_set_data(pctx, proc);
	return proc;
}

void tally_clear_proc(struct tally *tally, struct proc *proc)
{
	struct lwp *lwp;

	while ((lwp = LIST_FIRST(&proc->lwps)) != NULL)
		tally_free_lwp(tally, lwp);
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (proc->total[i] != NULL)
			cpc_buf_destroy(tally->cpc, proc->total[i]);
		proc->total[i] = NULL;
	}
	proc->incomplete = proc->linking = false;
}

void tally_free_proc(struct tally *tally, struct proc *proc)
{
	tally_clear_proc(tally, proc);
	LIST_REMOVE(proc, link);
	pctx_set_data(proc->pctx, NULL);
	free(proc);
}

struct lwp *tally_new_lwp(struct tally *tally, struct proc *proc, id_t id)
{
	struct lwp *lwp = xcalloc(1, sizeof(*lwp) + tally->grp->n * sizeof(lwp->counted[0]));

	lwp->id = id;
	lwp->tid = pctx_lwp_tid(proc->pctx, id);
	if (++tally->alive > tally->peak)
		tally->peak = tally->alive;
	lwp->off = tally->start_off;
	LIST_INSERT_HEAD(&proc->lwps, lwp, link);
	pctx_lwp_set_data(proc->pctx, id, lwp);
	return lwp;
}

void tally_free_lwp(struct tally *tally, struct lwp *lwp)
{
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (lwp->counted[i].set == NULL)
			continue;
		if (lwp->counted[i].before != NULL)
			cpc_buf_destroy(tally->cpc, lwp->counted[i].before);
		cpc_buf_destroy(tally->cpc, lwp->counted[i].total);
		cpc_set_destroy(tally->cpc, lwp->counted[i].set);
	}
	LIST_REMOVE(lwp, link);
	tally->alive--;
	free(lwp);
}

static int cmp_procs(const void *a, const void *b)
{
	const struct proc *const *x = a, *const *y = b;

	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

struct proc **tally_sort_procs(const struct tally *tally, size_t *n)
{
	struct proc **all, *proc;
	size_t i = 0;

	LIST_FOREACH(proc, &tally->procs, link)
		i++;
	all = xcalloc(i + 1, sizeof(struct proc *));
	*n = i;
	LIST_FOREACH(proc, &tally->procs, link)
		all[--i] = proc;
	qsort(all, *n, sizeof(struct proc *), cmp_procs);
	return all;
}

static int cmp_lwps(const void *a, const void *b)
{
	const struct lwp *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

struct lwp **tally_sort_lwps(const struct proc *proc, size_t *n)
{
	struct lwp **all, *lwp;
	size_t i = 0;

	LIST_FOREACH(lwp, &proc->lwps, link)
		i++;
	all = xcalloc(i + 1, sizeof(struct lwp *));
	*n = i;
	LIST_FOREACH(lwp, &proc->lwps, link)
		all[--i] = lwp;
	qsort(all, *n, sizeof(struct lwp *), cmp_lwps);
	return all;
}

/* Makes the set and the total for an LWP's turn with set `i`.  False: out of memory. */
static bool prepare(struct tally *tally, struct counted *c, size_t i)
{
	cpc_set_t *proto = tally->grp->set[i].set;

	if (c->set != NULL) {
		if (c->before != NULL)
			cpc_buf_zero(tally->cpc, c->before);
		return true;
	}
	c->total = cpc_buf_create(tally->cpc, proto);
	if (c->total != NULL)
		c->set = cpc_set_dup(tally->cpc, proto);
	if (c->set != NULL)
		return true;
	if (c->total != NULL)
		cpc_buf_destroy(tally->cpc, c->total);
	return false;
}

/* Files per LWP, called when none is left: all LWPs but one have theirs open. */
static size_t files_each(const struct tally *tally)
{
	struct rlimit lim;

	if (tally->alive < 2 || getrlimit(RLIMIT_NOFILE, &lim) == -1)
		return 0;
	return ((size_t)lim.rlim_cur + tally->alive - 2) / (tally->alive - 1);
}

/* Each errno is reported once, not for each of a thousand LWPs. */
static void complain(struct tally *tally, const struct proc *proc, const struct lwp *lwp,
		     const char *event, int error)
{
	tally->nrefused++;
	tally->lost = true;
	if (tally->told[(unsigned)error % NTOLD])
		return;
	tally->told[(unsigned)error % NTOLD] = true;
	if (error == EMFILE && tally->files_each == 0)
		tally->files_each = files_each(tally);
	say("%s: can't bind perf counters to lwp%d - %s (process %d)", event, (int)lwp->id,
	    error != ENOMEM ? cpcerr_text() : strerror(ENOMEM), (int)proc->pid);
}

static void set_refused(struct tally *tally, struct proc *proc, struct lwp *lwp)
{
	lwp->state = REFUSED;
	proc->incomplete = true;
	symbols_refused(tally->symbols, lwp->turn);
}

static void refuse(struct tally *tally, struct proc *proc, struct lwp *lwp, const char *event,
		   int error)
{
	set_refused(tally, proc, lwp);
	complain(tally, proc, lwp, event, error);
}

/* Binds a set.  Returns the number of its symbols that the program lacks, or -1. */
static int bind(struct tally *tally, const struct proc *proc, const struct lwp *lwp, cpc_set_t *set)
{
	uint_t flags = CPC_BIND_LATE | (lwp->off ? CPC_BIND_DISABLED : 0);
	int n;

	if (cpc_bind_pctx(tally->cpc, proc->pctx, lwp->id, set, flags) == -1)
		return -1;
	n = cpc_set_resolve(tally->cpc, set);
	if (n == -1) {
		int error = errno;

		cpc_unbind(tally->cpc, set);
		errno = error;
	}
	return n;
}

/* The program lacks `n` symbols of the set that was bound: its libraries may have them. */
static void settle(struct tally *tally, struct proc *proc, struct lwp *lwp, int n, bool first)
{
	struct counted *c = &lwp->counted[lwp->turn];
	bool symbols = false;
	int linking;

	for (size_t i = 0; i < tally->grp->n; i++)
		symbols |= tally->grp->set[i].symbols;
	if (!symbols)
		return;
	/* Also with n == 0: later sets may need the libraries. */
	if (!proc->linking && lwp->id == 1 && (n > 0 || tally->grp->n > 1)) {
		linking = pctx_watch_libraries(proc->pctx, 1);
		if (linking == -1) {
			int error = errno;

			c->valid = false;
			cpc_unbind(tally->cpc, c->set);
			say("init_lwp: can't watch libraries of process %d: %s", (int)proc->pid,
			    strerror(error));
			tally->nrefused++;
			tally->lost = true;
			set_refused(tally, proc, lwp);
			return;
		}
		proc->linking = linking;
	}
	if (!proc->linking && (n > 0 || (first && lwp->id == 1)))
		symbols_settled(tally->symbols, proc->pid, lwp->turn, c->set);
}

void tally_bind(struct tally *tally, struct proc *proc, struct lwp *lwp, const char *event)
{
	struct counted *c = &lwp->counted[lwp->turn];
	bool ready, first = !c->valid;
	int n;

	if (tally->waiting) {
		lwp->state = WAITING;
		return;
	}
	ready = prepare(tally, c, lwp->turn);
	n = ready ? bind(tally, proc, lwp, c->set) : -1;
	if (n >= 0) {
		lwp->state = COUNTING;
		c->valid = true;
		settle(tally, proc, lwp, n, first);
	} else if (ready && errno == ESRCH) {
		/* Killed while it was stopped: its death is reported next. */
		lwp->state = NEVER_RAN;
		c->valid = true;
	} else {
		refuse(tally, proc, lwp, event, ready ? errno : ENOMEM);
	}
}

void tally_begin(struct tally *tally)
{
	struct proc *proc;
	struct lwp *lwp;

	tally->waiting = false;
	LIST_FOREACH(proc, &tally->procs, link) {
		LIST_FOREACH(lwp, &proc->lwps, link) {
			if (lwp->state == WAITING)
				tally_bind(tally, proc, lwp, "delay");
		}
	}
}

void tally_mapped(struct tally *tally, struct proc *proc, bool done)
{
	struct lwp *lwp;
	int missing = 0;

	LIST_FOREACH(lwp, &proc->lwps, link) {
		cpc_set_t *set = lwp->counted[lwp->turn].set;
		int n;

		if (lwp->state != COUNTING)
			continue;
		n = cpc_set_resolve(tally->cpc, set);
		if (n == -1 && errno != ESRCH) {
			refuse(tally, proc, lwp, "init_lwp", errno);
			lwp->counted[lwp->turn].valid = false;
			cpc_unbind(tally->cpc, set);
		} else if (n != -1) {
			missing += n;
		}
	}
	/* With several sets, a later one may still need libraries. */
	done |= missing == 0 && tally->grp->n == 1;
	if (!done)
		return;
	proc->linking = false;
	pctx_watch_libraries(proc->pctx, 0);
	lwp = pctx_lwp_data(proc->pctx, 1);
	if (lwp->state == COUNTING)
		symbols_settled(tally->symbols, proc->pid, lwp->turn, lwp->counted[lwp->turn].set);
}

static void tell_lost(struct tally *tally, const struct proc *proc, const struct lwp *lwp,
		      cpc_set_t *set, int error)
{
	char why[1024];

	/* Those of all LWPs go at once. */
	if (tally->nlost++ > 0)
		return;
	if (error == EAGAIN && cpc_set_lost(tally->cpc, set, why, sizeof(why)) == 1)
		say("%d/%d: perf counter contents invalidated: %s", (int)proc->pid, (int)lwp->id,
		    why);
	else
		say("%d/%d: %s", (int)proc->pid, (int)lwp->id,
		    error == EAGAIN ? "perf counter contents invalidated" : strerror(error));
}

cpc_buf_t *tally_sample(struct tally *tally, struct proc *proc, struct lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->turn];
	cpc_buf_t *now = tally->now[lwp->turn];

	if (lwp->state == NEVER_RAN) {
		cpc_buf_zero(tally->cpc, now);
		return now;
	}
	if (lwp->state != COUNTING)
		return NULL;
	if (cpc_set_sample(tally->cpc, c->set, now) == 0)
		return now;
	tally->lost = true;
	tell_lost(tally, proc, lwp, c->set, errno);
	cpc_unbind(tally->cpc, c->set);
	/* The total keeps what the tick rows showed, if there were any. */
	if (c->before != NULL)
		cpc_buf_add(tally->cpc, c->total, c->total, c->before);
	c->valid = cpc_buf_hrtime(tally->cpc, c->total) != 0;
	lwp->state = LOST;
	proc->incomplete = true;
	return NULL;
}

cpc_buf_t *tally_tick(struct tally *tally, struct proc *proc, struct lwp *lwp)
{
	cpc_buf_t *now = tally_sample(tally, proc, lwp), *diff = tally->diff[lwp->turn];
	struct counted *c = &lwp->counted[lwp->turn];

	if (now == NULL)
		return NULL;
	/* Only now: most LWPs of a storm end before their first tick. */
	if (c->before == NULL)
		c->before = cpc_buf_create(tally->cpc, c->set);
	if (c->before == NULL)
		die("%s", strerror(errno));
	cpc_buf_sub(tally->cpc, diff, now, c->before);
	cpc_buf_copy(tally->cpc, c->before, now);
	return diff;
}

void tally_rotate(struct tally *tally, struct proc *proc, struct lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->turn];

	if (lwp->state != COUNTING)
		return;
	/* The values of the tick, so that the tick rows add up to the total. */
	cpc_buf_add(tally->cpc, c->total, c->total, c->before);
	/* The LWP may have switched them off, or on. */
	lwp->off = cpc_set_enabled(tally->cpc, c->set) == 0;
	cpc_unbind(tally->cpc, c->set);
	lwp->turn = (lwp->turn + 1) % tally->grp->n;
	tally_bind(tally, proc, lwp, "tick");
}

void tally_finish(struct tally *tally, struct proc *proc, struct lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->turn];
	cpc_buf_t *now = tally_sample(tally, proc, lwp);

	if (now != NULL)
		cpc_buf_add(tally->cpc, c->total, c->total, now);
	if (lwp->state == COUNTING)
		cpc_unbind(tally->cpc, c->set);
	for (size_t i = 0; i < tally->grp->n; i++) {
		c = &lwp->counted[i];
		if (!c->valid)
			continue;
		if (proc->total[i] == NULL)
			proc->total[i] = cpc_buf_create(tally->cpc, c->set);
		if (proc->total[i] == NULL)
			die("%s", strerror(errno));
		cpc_buf_add(tally->cpc, proc->total[i], proc->total[i], c->total);
		tally->ever_on |= cpc_buf_tick(tally->cpc, c->total) != 0;
	}
	if (lwp->state != REFUSED && lwp->state != LOST)
		lwp->state = DONE;
}

cpc_buf_t *tally_lwp_total(const struct lwp *lwp, size_t set)
{
	const struct counted *c = &lwp->counted[set];

	return lwp->state == DONE && c->valid ? c->total : NULL;
}
