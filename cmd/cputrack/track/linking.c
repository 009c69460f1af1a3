/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * linking.c - find symbols in the libraries of processes: those that a program starts with, which
 * it maps one after the other, and those that an event names, which it may load at any time.
 */
#include "linking.h"

#include "../../base/say.h"
#include "refuse.h"

#include <errno.h>
#include <string.h>

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

bool linking_awaits(const struct tally *tally, const struct tally_proc *proc)
{
	for (size_t i = 0; i < tally->grp->n; i++) {
		if (proc->awaits[i])
			return true;
	}
	return false;
}

void linking_reset(const struct tally *tally, struct tally_proc *proc)
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

/* The LWP is not counted; the caller has reported why. */
static void give_up(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_set *s = &lwp->set[lwp->turn];

	if (lwp->state == COUNTING)
		cpc_unbind(tally->cpc, s->set);
	s->valid = false;
	refuse_lwp_silently(tally, lwp);
}

/* The process had a library when it was found, and has not now: its return would be missed. */
static void refuse_unloaded(struct tally *tally, struct tally_lwp *lwp)
{
	if (tally->nrefused == 0)
		say("init_lwp: can't count lwp%d: process %d has unloaded a library that is named "
		    "without its path, and could load it again",
		    (int)lwp->id, (int)lwp->proc->pid);
	give_up(tally, lwp);
}

bool linking_watch(struct tally *tally, struct tally_lwp *lwp)
{
	struct tally_proc *proc = lwp->proc;
	bool all = linking_awaits(tally, proc);
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
	if (!proc->watched || proc->linking || linking_awaits(tally, proc))
		return;
	proc->watched = false;
	pctx_watch_libraries(proc->pctx, PCTX_LIBRARIES_NONE);
}

void linking_settle(struct tally *tally, struct tally_lwp *lwp, int missing)
{
	struct tally_set *s = &lwp->set[lwp->turn];
	struct tally_proc *proc = lwp->proc;

	if (!tally->symbols_wanted)
		return;
	proc->awaits[lwp->turn] = set_awaits(tally, s->set);
	/* Also if none is missing: later sets may need the libraries. */
	if ((missing > 0 || tally->grp->n > 1) && !linking_watch(tally, lwp))
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

	if (n == -1 && errno != ESRCH) {
		refuse_lwp(tally, lwp, "init_lwp", errno);
		lwp->set[lwp->turn].valid = false;
		cpc_unbind(tally->cpc, set);
	}
	if (n == -1)
		return 0;
	lwp->proc->awaits[lwp->turn] |= set_awaits(tally, set);
	return n;
}

void linking_mapped(struct tally *tally, struct tally_proc *proc, bool done)
{
	bool awaited = linking_awaits(tally, proc);
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
	if (some != NULL && (done || (!proc->linking && awaited != linking_awaits(tally, proc))))
		report_settled(tally, some);
	unwatch(tally, proc);
}
