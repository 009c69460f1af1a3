/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * linking.c - symbols in the libraries of processes: of those that a program starts with, which
 * it maps one after the other, and of those that are named and that it loads whenever it likes.
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

static void settled(struct tally *tally, const struct tally_proc *proc, struct tally_lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->base.turn];

	c->settled = true;
	symbols_settled(tally->symbols, proc->image, proc->base.pid, lwp->base.turn, c->set);
}

/* The LWP is not to be counted, as was told, or will be. */
static void give_up(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->base.turn];

	if (lwp->state == COUNTING)
		cpc_unbind(tally->cpc, c->set);
	c->valid = false;
	refuse_lwp_untold(tally, proc, lwp);
}

/* The process had a library when that was found, and has not now: nobody would see it come back. */
static void refuse_unloaded(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	if (tally->nrefused == 0)
		say("init_lwp: can't count lwp%d: process %d has unloaded a library that is named "
		    "without its path, and could load it again",
		    (int)lwp->base.id, (int)proc->base.pid);
	give_up(tally, proc, lwp);
}

bool linking_watch(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	bool all = linking_awaits(tally, proc);
	int comes;

	if (proc->watched || lwp->base.id != 1)
		return true;
	comes = pctx_watch_libraries(proc->pctx, all ? PCTX_LIBRARIES_ALL : PCTX_LIBRARIES_START);
	/* Killed while it was stopped: its death is reported next. */
	if (comes == -1 && errno == ESRCH) {
		proc->watched = true;
		return true;
	}
	if (comes == -1) {
		say("init_lwp: can't watch libraries of process %d: %s", (int)proc->base.pid,
		    strerror(errno));
		give_up(tally, proc, lwp);
		return false;
	}
	proc->linking = comes == PCTX_LIBRARIES_START;
	proc->watched = comes != PCTX_LIBRARIES_NONE;
	return true;
}

/* Ends that once nothing is to come. */
static void unwatch(const struct tally *tally, struct tally_proc *proc)
{
	if (!proc->watched || proc->linking || linking_awaits(tally, proc))
		return;
	proc->watched = false;
	pctx_watch_libraries(proc->pctx, PCTX_LIBRARIES_NONE);
}

void linking_settle(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp, int n)
{
	struct counted *c = &lwp->counted[lwp->base.turn];

	if (!tally->symbols_wanted)
		return;
	proc->awaits[lwp->base.turn] = set_awaits(tally, c->set);
	/* Also with n == 0: later sets may need the libraries. */
	if ((n > 0 || tally->grp->n > 1) && !linking_watch(tally, proc, lwp))
		return;
	if (proc->awaits[lwp->base.turn] && !proc->watched) {
		refuse_unloaded(tally, proc, lwp);
		return;
	}
	if (!proc->linking && (n > 0 || (!c->settled && lwp->base.id == 1)))
		settled(tally, proc, lwp);
	unwatch(tally, proc);
}

/* Looks for the symbols that an LWP lacks.  How many that still are. */
static int resolve(struct tally *tally, struct tally_proc *proc, struct tally_lwp *lwp)
{
	cpc_set_t *set = lwp->counted[lwp->base.turn].set;
	int n = cpc_set_resolve(tally->cpc, set);

	if (n == -1 && errno != ESRCH) {
		refuse_lwp(tally, proc, lwp, "init_lwp", errno);
		lwp->counted[lwp->base.turn].valid = false;
		cpc_unbind(tally->cpc, set);
	}
	if (n == -1)
		return 0;
	proc->awaits[lwp->base.turn] |= set_awaits(tally, set);
	return n;
}

void linking_mapped(struct tally *tally, struct tally_proc *proc, bool done)
{
	bool awaited = linking_awaits(tally, proc);
	struct tally_lwp *some = NULL;
	struct lwp *lwp;
	int missing = 0;

	TAILQ_FOREACH(lwp, &proc->base.lwps, link) {
		if (tally_lwp(lwp)->state == COUNTING)
			proc->awaits[lwp->turn] = false;
	}
	TAILQ_FOREACH(lwp, &proc->base.lwps, link) {
		if (tally_lwp(lwp)->state != COUNTING)
			continue;
		missing += resolve(tally, proc, tally_lwp(lwp));
		if (tally_lwp(lwp)->state == COUNTING)
			some = tally_lwp(lwp);
	}
	/* With several sets, a later one may still need libraries. */
	done |= proc->linking && some != NULL && missing == 0 && tally->grp->n == 1;
	if (done)
		proc->linking = false;
	if (some != NULL && (done || (!proc->linking && awaited != linking_awaits(tally, proc))))
		settled(tally, proc, some);
	unwatch(tally, proc);
}
