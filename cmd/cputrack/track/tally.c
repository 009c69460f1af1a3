/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.c - what the LWPs and processes of a tree counted.
 */
#include "tally.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "linking.h"
#include "refuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILES_BESIDE 32 /* open files that are not counters */

void tally_init(struct tally *tally, struct engine *engine)
{
	const struct setgrp *grp = engine->grp;
	cpc_t *cpc = engine->cpc;

	*tally = (struct tally){.engine = engine, .cpc = cpc, .grp = grp};
	tally->symbols = symbols_new(cpc, grp, engine->config.debug);
	tally->now = xcalloc(grp->n, sizeof(cpc_buf_t *));
	tally->diff = xcalloc(grp->n, sizeof(cpc_buf_t *));
	for (size_t i = 0; i < grp->n; i++) {
		tally->now[i] = cpc_buf_create(cpc, grp->set[i].set);
		tally->diff[i] = cpc_buf_create(cpc, grp->set[i].set);
		tally->symbols_wanted |= grp->set[i].symbols;
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
	while ((proc = TAILQ_FIRST(&tally->engine->procs)) != NULL)
		tally_free_proc(tally, tally_proc(proc));
	for (size_t i = 0; i < tally->grp->n; i++) {
		cpc_buf_destroy(tally->cpc, tally->now[i]);
		cpc_buf_destroy(tally->cpc, tally->diff[i]);
	}
	symbols_free(tally->symbols);
	free(tally->now);
	free(tally->diff);
}

struct tally_proc *tally_new_proc(struct tally *tally, pctx_t *pctx)
{
	struct tally_proc *proc = xcalloc(1, sizeof(*proc) + tally->grp->n * sizeof(cpc_buf_t *));

	proc->pctx = pctx;
	proc->base.pid = pctx_pid(pctx);
	proc->awaits = xcalloc(tally->grp->n, sizeof(*proc->awaits));
	linking_reset(tally, proc);
	TAILQ_INIT(&proc->base.lwps);
	TAILQ_INSERT_TAIL(&tally->engine->procs, &proc->base, link);
	pctx_set_data(pctx, proc);
	return proc;
}

void tally_clear_proc(struct tally *tally, struct tally_proc *proc)
{
	struct lwp *lwp;

	while ((lwp = TAILQ_FIRST(&proc->base.lwps)) != NULL)
		tally_free_lwp(tally, proc, tally_lwp(lwp));
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (proc->total[i] != NULL)
			cpc_buf_destroy(tally->cpc, proc->total[i]);
		proc->total[i] = NULL;
	}
	proc->base.incomplete = false;
	linking_reset(tally, proc);
}

void tally_free_proc(struct tally *tally, struct tally_proc *proc)
{
	tally_clear_proc(tally, proc);
	TAILQ_REMOVE(&tally->engine->procs, &proc->base, link);
	pctx_set_data(proc->pctx, NULL);
	free(proc->awaits);
	free(proc);
}

struct tally_lwp *tally_new_lwp(struct tally *tally, struct tally_proc *proc, id_t id)
{
	struct tally_lwp *lwp = xcalloc(1, sizeof(*lwp) + tally->grp->n * sizeof(lwp->counted[0]));

	lwp->base.id = id;
	lwp->base.tid = pctx_lwp_tid(proc->pctx, id);
	if (++tally->alive > tally->peak)
		tally->peak = tally->alive;
	lwp->off = tally->engine->config.start_off;
	TAILQ_INSERT_TAIL(&proc->base.lwps, &lwp->base, link);
	pctx_lwp_set_data(proc->pctx, id, lwp);
	return lwp;
}

void tally_free_lwp(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (lwp->counted[i].set == NULL)
			continue;
		if (lwp->counted[i].before != NULL)
			cpc_buf_destroy(tally->cpc, lwp->counted[i].before);
		cpc_buf_destroy(tally->cpc, lwp->counted[i].total);
		cpc_set_destroy(tally->cpc, lwp->counted[i].set);
	}
	TAILQ_REMOVE(&proc->base.lwps, &lwp->base, link);
	tally->alive--;
	free(lwp);
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

/* Binds a set.  Returns the number of its symbols that the program lacks, or -1. */
static int bind(struct tally *tally, const struct tally_proc *proc, const struct tally_lwp *lwp,
		cpc_set_t *set)
{
	uint_t flags = CPC_BIND_LATE | (lwp->off ? CPC_BIND_DISABLED : 0);
	int n;

	if (cpc_bind_pctx(tally->cpc, proc->pctx, lwp->base.id, set, flags) == -1)
		return -1;
	n = cpc_set_resolve(tally->cpc, set);
	if (n == -1) {
		int error = errno;

		cpc_unbind(tally->cpc, set);
		errno = error;
	}
	return n;
}

void tally_bind(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp,
		const char *event)
{
	struct counted *c = &lwp->counted[lwp->base.turn];
	bool ready;
	int n;

	if (proc->image == NULL)
		proc->image = symbols_image(tally->symbols, proc->base.pid);
	if (tally->engine->config.waiting) {
		lwp->state = WAITING;
		if (linking_awaits(tally, proc))
			linking_watch(tally, proc, lwp);
		return;
	}
	ready = prepare(tally, c, lwp->base.turn);
	n = ready ? bind(tally, proc, lwp, c->set) : -1;
	if (n >= 0) {
		lwp->state = COUNTING;
		c->valid = true;
		linking_settle(tally, proc, lwp, n);
	} else if (ready && errno == ESRCH) {
		/* Killed while it was stopped: its death is reported next. */
		lwp->state = NEVER_RAN;
		c->valid = true;
	} else {
		refuse_lwp(tally, proc, lwp, event, ready ? errno : ENOMEM);
	}
}

void tally_begin(struct tally *tally)
{
	struct proc *proc;
	struct lwp *lwp;

	tally->engine->config.waiting = false;
	TAILQ_FOREACH(proc, &tally->engine->procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			if (tally_lwp(lwp)->state == WAITING)
				tally_bind(tally, tally_proc(proc), tally_lwp(lwp), "delay");
		}
	}
}

static void tell_lost(struct tally *tally, const struct tally_proc *proc,
		      const struct tally_lwp *lwp, cpc_set_t *set, int error)
{
	char why[1024];

	/* Those of all LWPs go at once. */
	if (tally->nlost++ > 0)
		return;
	if (error == EAGAIN && cpc_set_lost(tally->cpc, set, why, sizeof(why)) == 1)
		say("%d/%d: perf counter contents invalidated: %s", (int)proc->base.pid,
		    (int)lwp->base.id, why);
	else
		say("%d/%d: %s", (int)proc->base.pid, (int)lwp->base.id,
		    error == EAGAIN ? "perf counter contents invalidated" : strerror(error));
}

cpc_buf_t *tally_sample(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->base.turn];
	cpc_buf_t *now = tally->now[lwp->base.turn];

	if (lwp->state == NEVER_RAN) {
		cpc_buf_zero(tally->cpc, now);
		return now;
	}
	if (lwp->state != COUNTING)
		return NULL;
	if (cpc_set_sample(tally->cpc, c->set, now) == 0)
		return now;
	tally->engine->lost = true;
	tell_lost(tally, proc, lwp, c->set, errno);
	cpc_unbind(tally->cpc, c->set);
	/* The total keeps what the tick rows showed, if there were any. */
	if (c->before != NULL)
		cpc_buf_add(tally->cpc, c->total, c->total, c->before);
	c->valid = cpc_buf_hrtime(tally->cpc, c->total) != 0;
	lwp->state = LOST;
	proc->base.incomplete = true;
	return NULL;
}

cpc_buf_t *tally_tick(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	cpc_buf_t *now = tally_sample(tally, proc, lwp), *diff = tally->diff[lwp->base.turn];
	struct counted *c = &lwp->counted[lwp->base.turn];

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

void tally_rotate(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->base.turn];

	if (lwp->state != COUNTING)
		return;
	/* The values of the tick, so that the tick rows add up to the total. */
	cpc_buf_add(tally->cpc, c->total, c->total, c->before);
	/* The LWP may have switched them off, or on. */
	lwp->off = cpc_set_enabled(tally->cpc, c->set) == 0;
	cpc_unbind(tally->cpc, c->set);
	lwp->base.turn = (lwp->base.turn + 1) % tally->grp->n;
	tally_bind(tally, proc, lwp, "tick");
}

void tally_finish(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->base.turn];
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
		tally->engine->ever_on |= cpc_buf_tick(tally->cpc, c->total) != 0;
	}
	if (lwp->state != REFUSED && lwp->state != LOST)
		lwp->state = DONE;
}

cpc_buf_t *tally_lwp_total(const struct tally_lwp *lwp, size_t set)
{
	const struct counted *c = &lwp->counted[set];

	return lwp->state == DONE && c->valid ? c->total : NULL;
}
