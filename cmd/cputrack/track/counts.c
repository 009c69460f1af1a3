/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counts.c - what the LWPs of a tree have counted, from the slots that the kernel fills.
 */
#include "counts.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <cpc_counter.h>
#include <errno.h>
#include <string.h>

cpc_buf_t *counts_new(const struct tree *tree)
{
	cpc_buf_t *buf = cpc_buf_create(tree->engine->cpc, tree->engine->grp->set[0].set);

	if (buf == NULL)
		die("%s", strerror(errno));
	return buf;
}

static void read_slot(struct tree *tree, struct counted_lwp *lwp)
{
	unsigned flaws;

	if (lwp->final)
		return;
	flaws = lwps_read(tree->lwps, lwp->slot, lwp->count);
	lwp->proc->base.incomplete |= flaws != 0;
	if (lwps_whole(flaws) || lwp->flawed)
		return;
	lwp->flawed = true;
	tree->engine->lost = true;
	tree->nflawed++;
	tree->flaws |= flaws;
}

static cpc_buf_t *fill(const struct tree *tree, cpc_buf_t *buf, const uint64_t *count)
{
	cpc_buf_fill(tree->engine->cpc, buf, tree->engine->grp->set[0].set, count,
		     tree->fit.ncounters, count[tree->fit.clock], tree->read_ns);
	return buf;
}

/* Before counting began? */
static bool is_early(const struct tree *tree)
{
	return tree->read_ns < tree->begun_ns;
}

void counts_finalize(struct tree *tree, struct counted_lwp *lwp)
{
	cpc_buf_t *total = lwp->proc->total;

	if (lwp->final)
		return;
	if (!tree->invalid)
		read_slot(tree, lwp);
	lwp->final = true;
	if (tree->invalid)
		return;
	lwp->early = is_early(tree);
	if (lwp->early)
		return;
	lwp->proc->counted = true;
	cpc_buf_add(tree->engine->cpc, total, total, fill(tree, tree->buf, lwp->count));
	tree->engine->ever_on |= lwp->count[tree->fit.clock] != 0;
}

/* The total of its process keeps what its rows have shown. */
void counts_invalidate(struct tree *tree, struct counted_lwp *lwp)
{
	cpc_buf_t *total = lwp->proc->total;
	const uint64_t *told = &lwp->count[tree->fit.ncolumns];

	if (lwp->final || lwp->base.tick == 0)
		return;
	lwp->proc->counted = true;
	cpc_buf_add(tree->engine->cpc, total, total, fill(tree, tree->buf, told));
}

/* NULL: nobody knows. */
static cpc_buf_t *known(const struct tree *tree, cpc_buf_t *buf)
{
	return tree->invalid || is_early(tree) ? NULL : buf;
}

/* Rows of births have what was counted by then, which is nothing. */
cpc_buf_t *counts_sample(struct tree *tree)
{
	cpc_buf_zero(tree->engine->cpc, tree->buf);
	return known(tree, tree->buf);
}

cpc_buf_t *counts_sample_tick(struct tree *tree, struct lwp *base)
{
	struct counted_lwp *lwp = counted(base);
	uint64_t *told = &lwp->count[tree->fit.ncolumns];

	if (!lwp->final && !lwps_changed(tree->lwps, lwp->slot, &lwp->state))
		return lwp->flawed ? NULL : known(tree, tree->zero);
	read_slot(tree, lwp);
	/* Of a thousand LWPs, all that is read is out of the caches: it is as little as can be. */
	cpc_buf_sub(tree->engine->cpc, tree->buf, fill(tree, tree->buf, lwp->count),
		    fill(tree, tree->before, told));
	memcpy(told, lwp->count, tree->fit.ncolumns * sizeof(*told));
	return lwp->flawed ? NULL : known(tree, tree->buf);
}

cpc_buf_t *counts_of_lwp(struct tree *tree, const struct lwp *base)
{
	const struct counted_lwp *lwp = (const struct counted_lwp *)base;

	if (tree->invalid || lwp->flawed || lwp->early)
		return NULL;
	return fill(tree, tree->buf, lwp->count);
}

cpc_buf_t *counts_of_proc(struct tree *tree, const struct proc *proc)
{
	const struct counted_proc *of = (const struct counted_proc *)proc;

	return (tree->invalid || tree->begun_ns != 0) && !of->counted ? NULL : of->total;
}
