/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * binding.c - bind sets to traced LWPs, and find their symbols in libraries as these are mapped.
 *
 * The dynamic linker maps the libraries that a program starts with one after the other.  A library
 * that an event names without a path may be mapped at any time.
 */
#include "binding.h"

#include "../../base/say.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* ---- LWPs that run on uncounted -------------------------------------------------------- */

/* The caller has reported why. */
static void give_up(struct tally *tally, struct tally_lwp *lwp)
{
	if (lwp->state == COUNTING)
		cpc_unbind(tally->cpc, lwp->set[lwp->turn].set);
	lwp->state = REFUSED;
	tally->nrefused++;
	tally->engine->lost = true;
}

/* Files per LWP.  The limit was just reached: all LWPs but one have theirs open. */
static size_t files_each(const struct tally *tally)
{
	struct rlimit lim;

	if (tally->alive < 2 || getrlimit(RLIMIT_NOFILE, &lim) == -1)
		return 0;
	return ((size_t)lim.rlim_cur + tally->alive - 2) / (tally->alive - 1);
}

/* Binding failed with `error` at `event`.  Each errno is reported once, not for each LWP. */
static void refuse(struct tally *tally, struct tally_lwp *lwp, const char *event, int error)
{
	bool *reported = &tally->reported[(unsigned)error % MAX_ERRNO];

	if (!*reported) {
		if (error == EMFILE)
			tally->files_each = files_each(tally);
		say("%s: can't bind perf counters to lwp%d - %s (process %d)", event, (int)lwp->id,
		    error != ENOMEM ? cpcerr_text() : strerror(ENOMEM), (int)lwp->proc->pid);
		*reported = true;
	}
	give_up(tally, lwp);
}

/* ---- libraries ------------------------------------------------------------------------- */

static void note_awaited(void *arg, int req, const char *name, uint64_t address)
{
	(void)req, (void)name;
	*(bool *)arg |= address == CPC_NOT_MAPPED;
}

/* Does a set have symbols of libraries that the process may load later? */
static bool set_awaits(const struct tally *tally, const cpc_set_t *set)
{
	bool awaits = false;

	cpc_walk_symbols(tally->cpc, set, &awaits, note_awaited);
	return awaits;
}

/* Does any set of the group? */
static bool proc_awaits(const struct tally *tally, const struct tally_proc *proc)
{
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (proc->awaits[i])
			return true;
	}
	return false;
}

void binding_reset(const struct tally *tally, struct tally_proc *proc)
{
	proc->linking = proc->watched = false;
	proc->image = NULL;
	for (size_t i = 0; i < tally->grp->n; i++)
		proc->awaits[i] = set_awaits(tally, tally->grp->set[i].set);
}

static void report_settled(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_set *s = &lwp->set[lwp->turn];

	s->settled = true;
	symbols_settled(tally->symbols, lwp->proc->image, lwp->proc->pid, lwp->turn, s->set);
}

/*
 * The library was mapped when an earlier LWP was bound, so the process is not watched any more.  It
 * has unloaded the library since: a later load would be missed.
 */
static void refuse_unloaded(struct tally *tally, struct tally_lwp *lwp)
{
	if (tally->nrefused == 0)
		say("init_lwp: can't count lwp%d: process %d has unloaded a library that is named "
		    "without its path, and could load it again",
		    (int)lwp->id, (int)lwp->proc->pid);
	give_up(tally, lwp);
}

/*
 * Asks libpctx to report libraries as the process maps them, once its first LWP begins.  False: it
 * cannot, and the LWP is refused.
 */
static bool watch(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_proc *proc = lwp->proc;
	bool all = proc_awaits(tally, proc);
	int comes;

	if (proc->watched || lwp->id != 1)
		return true;
	comes = pctx_watch_libraries(proc->pctx, all ? PCTX_LIBRARIES_ALL : PCTX_LIBRARIES_START);
	/* Killed while it was stopped: its death is reported next. */
	if (comes == -1 && errno == ESRCH) {
		proc->watched = true;
		return true;
	}
	if (comes == -1) {
		say("init_lwp: can't watch libraries of process %d: %s", (int)proc->pid,
		    strerror(errno));
		give_up(tally, lwp);
		return false;
	}
	proc->linking = comes == PCTX_LIBRARIES_START;
	proc->watched = comes != PCTX_LIBRARIES_NONE;
	return true;
}

/* Stops watching once no library can bring an awaited symbol. */
static void unwatch(const struct tally *tally, struct tally_proc *proc)
{
	if (!proc->watched || proc->linking || proc_awaits(tally, proc))
		return;
	proc->watched = false;
	pctx_watch_libraries(proc->pctx, PCTX_LIBRARIES_NONE);
}

/* The set was bound, and the program lacks `missing` of its symbols: libraries may have them. */
static void settle(struct tally *tally, struct tally_lwp *lwp, int missing)
{
	struct tally_set *s = &lwp->set[lwp->turn];
	struct tally_proc *proc = lwp->proc;

	if (!tally->symbols_wanted)
		return;
	proc->awaits[lwp->turn] = set_awaits(tally, s->set);
	/* Also if no symbol is missing: later sets may need the libraries. */
	if ((missing > 0 || tally->grp->n > 1) && !watch(tally, lwp))
		return;
	if (proc->awaits[lwp->turn] && !proc->watched) {
		refuse_unloaded(tally, lwp);
		return;
	}
	if (!proc->linking && (missing > 0 || (!s->settled && lwp->id == 1)))
		report_settled(tally, lwp);
	unwatch(tally, proc);
}

/* Looks for the symbols that an LWP lacks.  Returns how many are still missing. */
static int resolve(struct tally *tally, struct tally_lwp *lwp)
{
	cpc_set_t *set = lwp->set[lwp->turn].set;
	int n = cpc_set_resolve(tally->cpc, set);

	if (n == -1 && errno != ESRCH)
		refuse(tally, lwp, "init_lwp", errno);
	if (n == -1)
		return 0;
	setgrp_report_clones(tally->cpc, &tally->grp->set[lwp->turn], set);
	lwp->proc->awaits[lwp->turn] |= set_awaits(tally, set);
	return n;
}

void binding_mapped(struct tally *tally, struct tally_proc *proc, bool done)
{
	bool awaited = proc_awaits(tally, proc);
	struct tally_lwp *lwp, *some = NULL;
	struct lwp *entry;
	int missing = 0;

	TAILQ_FOREACH(entry, &proc->proc->lwps, link) {
		lwp = entry->own;
		if (lwp->state == COUNTING)
			proc->awaits[lwp->turn] = false;
	}
	TAILQ_FOREACH(entry, &proc->proc->lwps, link) {
		lwp = entry->own;
		if (lwp->state != COUNTING)
			continue;
		missing += resolve(tally, lwp);
		if (lwp->state == COUNTING)
			some = lwp;
	}
	/* With several sets, a later one may still need libraries. */
	done |= proc->linking && some != NULL && missing == 0 && tally->grp->n == 1;
	if (done)
		proc->linking = false;
	if (some != NULL && (done || (!proc->linking && awaited != proc_awaits(tally, proc))))
		report_settled(tally, some);
	unwatch(tally, proc);
}

/* ---- sets ------------------------------------------------------------------------------ */

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

void binding_bind(struct tally *tally, struct tally_lwp *lwp, const char *event)
{
	struct tally_proc *proc = lwp->proc;
	struct tally_set *s = &lwp->set[lwp->turn];
	bool ready;
	int n;

	lwp->state = WAITING;
	if (proc->image == NULL)
		proc->image = symbols_image(tally->symbols, proc->pid);
	if (tally->engine->waiting) {
		if (proc_awaits(tally, proc))
			watch(tally, lwp);
		return;
	}
	if (s->set == NULL)
		s->set = cpc_set_dup(tally->cpc, tally->model[lwp->turn].set);
	ready = s->set != NULL;
	n = ready ? bind(tally, lwp, s->set) : -1;
	if (n >= 0) {
		lwp->state = COUNTING;
		s->nbound++;
		setgrp_report_clones(tally->cpc, &tally->grp->set[lwp->turn], s->set);
		settle(tally, lwp, n);
	} else if (ready && errno == ESRCH) {
		/* Killed while it was stopped: its death is reported next. */
		lwp->state = NEVER_RAN;
	} else {
		refuse(tally, lwp, event, ready ? errno : ENOMEM);
	}
}

void binding_begin(struct tally *tally)
{
	struct tally_lwp *waiting;
	struct proc *proc;
	struct lwp *lwp;

	tally->engine->waiting = false;
	TAILQ_FOREACH(proc, &tally->engine->track->tree.procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			waiting = lwp->own;
			if (waiting->state == WAITING)
				binding_bind(tally, waiting, "delay");
		}
	}
}

void binding_rotate(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_set *s = &lwp->set[lwp->turn];
	const size_t sample = tally->engine->track->sample;

	if (!tally->engine->waiting && tally->sample != sample)
		tally->turn = (tally->turn + 1) % tally->grp->n;
	tally->sample = sample;
	if (lwp->state != COUNTING)
		return;
	if (s->total == NULL)
		s->total = cpc_buf_create(tally->cpc, tally->model[lwp->turn].set);
	if (s->total == NULL) {
		refuse(tally, lwp, "tick", errno);
		return;
	}
	/* The values of the tick, so that the tick rows add up to the total. */
	cpc_buf_copy(tally->cpc, s->total, tally->now[lwp->turn]);
	/* The LWP may have switched its counters off, or on. */
	lwp->off = cpc_set_enabled(tally->cpc, s->set) == 0;
	cpc_unbind(tally->cpc, s->set);
	lwp->turn = tally->turn;
	binding_bind(tally, lwp, "tick");
}
