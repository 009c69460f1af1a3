/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.c - count LWPs with a set for each, while libpctx traces them.
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
	tally->counts = xcalloc(grp->n, sizeof(*tally->counts));
	for (size_t i = 0; i < grp->n; i++) {
		tally->now[i] = cpc_buf_create(cpc, grp->set[i].set);
		tally->symbols_wanted |= grp->set[i].symbols;
		if (tally->now[i] == NULL)
			die("%s", strerror(errno));
	}
}

void tally_free(struct tally *tally)
{
	if (tally->files_each != 0)
		say("%zu LWP%s could not be counted; all could, with a limit of %zu files "
		    "(ulimit -n)",
		    tally->nrefused, tally->nrefused == 1 ? "" : "s",
		    tally->peak * tally->files_each + FILES_BESIDE);
	else if (tally->nrefused > 1)
		say("%zu LWPs could not be counted", tally->nrefused);
	if (tally->nlost > 1)
		say("the counters of %zu LWPs were lost", tally->nlost);
	for (size_t i = 0; i < tally->grp->n; i++)
		cpc_buf_destroy(tally->cpc, tally->now[i]);
	symbols_free(tally->symbols);
	free(tally->now);
	free(tally->counts);
}

struct tally_proc *tally_new_proc(struct tally *tally, pctx_t *pctx)
{
	struct tally_proc *proc = xcalloc(1, sizeof(*proc));

	proc->pctx = pctx;
	proc->pid = pctx_pid(pctx);
	proc->awaits = xcalloc(tally->grp->n, sizeof(*proc->awaits));
	linking_reset(tally, proc);
	pctx_set_data(pctx, proc);
	return proc;
}

void tally_clear(struct tally *tally, struct tally_proc *proc)
{
	struct lwp *lwp;

	if (proc->proc == NULL)
		return;
	TAILQ_FOREACH(lwp, &proc->proc->lwps, link) {
		tally_free_lwp(tally, lwp->own);
		lwp->own = NULL;
	}
}

void tally_free_proc(struct tally_proc *proc)
{
	pctx_set_data(proc->pctx, NULL);
	if (proc->proc != NULL)
		proc->proc->own = NULL;
	free(proc->awaits);
	free(proc);
}

struct tally_lwp *tally_new_lwp(struct tally *tally, struct tally_proc *proc, id_t id)
{
	struct tally_lwp *lwp = xcalloc(1, sizeof(*lwp) + tally->grp->n * sizeof(lwp->set[0]));

	lwp->proc = proc;
	lwp->id = id;
	lwp->tid = pctx_lwp_tid(proc->pctx, id);
	if (++tally->alive > tally->peak)
		tally->peak = tally->alive;
	lwp->off = tally->engine->config.start_off;
	lwp->turn = tally->turn;
	pctx_lwp_set_data(proc->pctx, id, lwp);
	return lwp;
}

void tally_free_lwp(struct tally *tally, struct tally_lwp *lwp)
{
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (lwp->set[i].total != NULL)
			cpc_buf_destroy(tally->cpc, lwp->set[i].total);
		if (lwp->set[i].set != NULL)
			cpc_set_destroy(tally->cpc, lwp->set[i].set);
	}
	tally->alive--;
	free(lwp);
}

/* Binds a set.  Returns the number of its symbols that the program lacks, or -1. */
static int bind(struct tally *tally, const struct tally_lwp *lwp, cpc_set_t *set)
{
	uint_t flags = CPC_BIND_LATE | (lwp->off ? CPC_BIND_DISABLED : 0);
	int n;

	if (cpc_bind_pctx(tally->cpc, lwp->proc->pctx, lwp->id, set, flags) == -1)
		return -1;
	n = cpc_set_resolve(tally->cpc, set);
	if (n == -1) {
		int error = errno;

		cpc_unbind(tally->cpc, set);
		errno = error;
	}
	return n;
}

void tally_bind(struct tally *tally, struct tally_lwp *lwp, const char *event)
{
	struct tally_proc *proc = lwp->proc;
	struct tally_set *s = &lwp->set[lwp->turn];
	bool ready;
	int n;

	if (proc->image == NULL)
		proc->image = symbols_image(tally->symbols, proc->pid);
	if (tally->engine->waiting) {
		lwp->state = WAITING;
		if (linking_awaits(tally, proc))
			linking_watch(tally, lwp);
		return;
	}
	if (s->set == NULL)
		s->set = cpc_set_dup(tally->cpc, tally->grp->set[lwp->turn].set);
	ready = s->set != NULL;
	n = ready ? bind(tally, lwp, s->set) : -1;
	if (n >= 0) {
		lwp->state = COUNTING;
		s->valid = true;
		linking_settle(tally, lwp, n);
	} else if (ready && errno == ESRCH) {
		/* Killed while it was stopped: its death is reported next. */
		lwp->state = NEVER_RAN;
		s->valid = true;
	} else {
		refuse_lwp(tally, lwp, event, ready ? errno : ENOMEM);
	}
}

void tally_begin(struct tally *tally)
{
	struct tally_lwp *waiting;
	struct proc *proc;
	struct lwp *lwp;

	tally->engine->waiting = false;
	TAILQ_FOREACH(proc, &tally->engine->track->tree.procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			waiting = lwp->own;
			if (waiting->state == WAITING)
				tally_bind(tally, waiting, "delay");
		}
	}
}

bool tally_is_counting(const struct tally_lwp *lwp)
{
	return lwp->state == COUNTING || lwp->state == NEVER_RAN;
}

unsigned tally_flaws(const struct tally_lwp *lwp)
{
	return lwp->state == REFUSED || lwp->state == LOST ? TRACK_PROC_FLAWED : 0;
}

static void report_lost(struct tally *tally, const struct tally_lwp *lwp, cpc_set_t *set, int error)
{
	char why[1024];

	/* The counters of all LWPs are lost together: report the first. */
	if (tally->nlost++ > 0)
		return;
	if (error == EAGAIN && cpc_set_lost(tally->cpc, set, why, sizeof(why)) == 1)
		say("%d/%d: perf counter contents invalidated: %s", (int)lwp->proc->pid,
		    (int)lwp->id, why);
	else
		say("%d/%d: %s", (int)lwp->proc->pid, (int)lwp->id,
		    error == EAGAIN ? "perf counter contents invalidated" : strerror(error));
}

bool tally_sample(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_set *s = &lwp->set[lwp->turn];
	cpc_buf_t *now = tally->now[lwp->turn];

	if (!tally_is_counting(lwp))
		return false;
	if (lwp->state == NEVER_RAN) {
		cpc_buf_zero(tally->cpc, now);
	} else if (cpc_set_sample(tally->cpc, s->set, now) == -1) {
		tally->engine->lost = true;
		report_lost(tally, lwp, s->set, errno);
		cpc_unbind(tally->cpc, s->set);
		lwp->state = LOST;
		return false;
	}
	if (s->total != NULL)
		cpc_buf_add(tally->cpc, now, now, s->total);
	engine_counts(tally->cpc, now, tally->grp->set[lwp->turn].spec.nreqs,
		      &tally->counts[lwp->turn]);
	return true;
}

void tally_rotate(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_set *s = &lwp->set[lwp->turn];
	const size_t sample = tally->engine->track->sample;

	if (!tally->engine->waiting && tally->sample != sample)
		tally->turn = (tally->turn + 1) % tally->grp->n;
	tally->sample = sample;
	if (lwp->state != COUNTING)
		return;
	if (s->total == NULL)
		s->total = cpc_buf_create(tally->cpc, tally->grp->set[lwp->turn].set);
	if (s->total == NULL) {
		refuse_lwp(tally, lwp, "tick", errno);
		return;
	}
	/* The values of the tick, so that the tick rows add up to the total. */
	cpc_buf_copy(tally->cpc, s->total, tally->now[lwp->turn]);
	/* The LWP may have switched them off, or on. */
	lwp->off = cpc_set_enabled(tally->cpc, s->set) == 0;
	cpc_unbind(tally->cpc, s->set);
	lwp->turn = tally->turn;
	tally_bind(tally, lwp, "tick");
}

bool tally_finish(struct tally *tally, struct tally_lwp *lwp)
{
	bool known = tally_sample(tally, lwp);

	if (lwp->state == COUNTING)
		cpc_unbind(tally->cpc, lwp->set[lwp->turn].set);
	if (lwp->state == REFUSED || lwp->state == LOST)
		return false;
	for (size_t i = 0; i < tally->grp->n; i++) {
		const struct tally_set *s = &lwp->set[i];

		if (known && i == lwp->turn)
			continue;
		tally->counts[i].known = s->valid;
		if (s->valid)
			engine_counts(tally->cpc, s->total, tally->grp->set[i].spec.nreqs,
				      &tally->counts[i]);
	}
	lwp->state = DONE;
	return true;
}
