/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tally.c - read and add up the counts of LWPs that libpctx traces.
 */
#include "tally.h"

#include "../../../libcpc/set/counter.h"
#include "../../base/say.h"
#include "../../base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILES_BESIDE 32 /* open files that are not counters */

/* How many nested returns of an LWP the kernel sees: MAX_URETPROBE_DEPTH of its uprobes.h. */
#define MAX_NESTED 64

/* ---- sets as they are bound --------------------------------------------------------------- */

static struct tally_model new_model(cpc_t *cpc, const struct setgrp_set *from)
{
	const size_t n = from->spec.nreqs;
	struct tally_model model = {
		.set = xmade(cpc_set_dup(cpc, from->set)),
		.calls = xcalloc(n, sizeof(*model.calls)),
		.told = xcalloc(n, sizeof(*model.told)),
	};

	for (size_t i = 0; i < n; i++) {
		model.calls[i] = cpc_set_add_calls(cpc, model.set, (int)i);
		if (model.calls[i] == -1 && errno != ENOENT)
			say("caution: '%s': returns of deeply nested calls are lost unnoticed in a "
			    "set of so many events",
			    from->spec.req[i].event);
	}
	return model;
}

/*
 * Compares calls with returns.  Calls need not return: an LWP can exit or wait in them, or leave
 * them by longjmp(3).  So only if more did not return than the kernel sees nested, which may be so
 * each time that the set is unbound, the counts are incomplete.  Fewer are reported.
 */
static void check_returns(struct tally *tally, struct tally_lwp *lwp, size_t i, cpc_buf_t *buf)
{
	struct tally_model *model = &tally->model[i];
	const uint64_t most = (uint64_t)MAX_NESTED * lwp->set[i].nbound;
	uint64_t calls, returns;

	for (size_t req = 0; req < tally->grp->set[i].spec.nreqs; req++) {
		if (model->calls[req] == -1)
			continue;
		cpc_buf_get(tally->cpc, buf, (int)req, &returns);
		cpc_buf_get(tally->cpc, buf, model->calls[req], &calls);
		if (calls <= returns || calls <= most ||
		    (tally->grp->n > 1 && calls - returns <= most))
			continue;
		lwp->unreturned |= calls - returns > most;
		tally->engine->lost |= lwp->unreturned;
		if (!model->told[req])
			say("%s: %llu call%s did not return, or %s nested too deep: the kernel sees "
			    "the returns of %d nested calls at most",
			    tally->grp->set[i].spec.req[req].event,
			    (unsigned long long)(calls - returns), calls - returns == 1 ? "" : "s",
			    calls - returns == 1 ? "was" : "were", MAX_NESTED);
		model->told[req] = true;
	}
}

/* ---- the life of a tally ------------------------------------------------------------------ */

void tally_init(struct tally *tally, struct engine *engine)
{
	const struct setgrp *grp = engine->grp;
	cpc_t *cpc = engine->cpc;

	*tally = (struct tally){.engine = engine, .cpc = cpc, .grp = grp};
	tally->symbols = symbols_new(cpc, grp, engine->config.debug);
	tally->now = xcalloc(grp->n, sizeof(cpc_buf_t *));
	tally->counts = xcalloc(grp->n, sizeof(*tally->counts));
	tally->model = xcalloc(grp->n, sizeof(*tally->model));
	for (size_t i = 0; i < grp->n; i++) {
		tally->model[i] = new_model(cpc, &grp->set[i]);
		tally->now[i] = xmade(cpc_buf_create(cpc, tally->model[i].set));
		tally->symbols_wanted |= grp->set[i].symbols;
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
	for (size_t i = 0; i < tally->grp->n; i++) {
		cpc_buf_destroy(tally->cpc, tally->now[i]);
		cpc_set_destroy(tally->cpc, tally->model[i].set);
		free(tally->model[i].calls);
		free(tally->model[i].told);
	}
	free(tally->model);
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

bool tally_is_counting(const struct tally_lwp *lwp)
{
	return lwp->state == COUNTING || lwp->state == NEVER_RAN;
}

unsigned tally_flaws(const struct tally_lwp *lwp)
{
	return lwp->state == REFUSED || lwp->state == LOST || lwp->unreturned ? TRACK_PROC_FLAWED
									      : 0;
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
	engine_counts(tally->engine, lwp->turn, now, &tally->counts[lwp->turn]);
	return true;
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

		if (known && i == lwp->turn) {
			check_returns(tally, lwp, i, tally->now[i]);
			continue;
		}
		tally->counts[i].known = s->set != NULL;
		if (s->set == NULL)
			continue;
		engine_counts(tally->engine, i, s->total, &tally->counts[i]);
		check_returns(tally, lwp, i, s->total);
	}
	lwp->state = DONE;
	return true;
}
