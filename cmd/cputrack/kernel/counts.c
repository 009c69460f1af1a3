/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counts.c - what the LWPs of a tree have counted, from the slots that the kernel fills.
 */
#include "counts.h"

#include "../../common/say.h"
#include "../../common/util.h"

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
	flaws = lwps_read(tree->lwps, lwp->slot, lwp->now);
	lwp->proc->base.incomplete |= flaws != 0;
	if (lwps_whole(flaws) || lwp->flawed)
		return;
	lwp->flawed = true;
	tree->engine->lost = true;
	tree->nflawed++;
	tree->flaws |= flaws;
}

/* In the scratch buffer. */
static cpc_buf_t *fill(struct tree *tree, const uint64_t *value)
{
	cpc_buf_fill(tree->engine->cpc, tree->buf, tree->engine->grp->set[0].set, value,
		     tree->fit.ncounters, value[tree->fit.clock], tree->read_ns);
	return tree->buf;
}

void counts_finalize(struct tree *tree, struct counted_lwp *lwp)
{
	cpc_buf_t *total = lwp->proc->total;

	if (lwp->final)
		return;
	read_slot(tree, lwp);
	lwp->final = true;
	cpc_buf_add(tree->engine->cpc, total, total, fill(tree, lwp->now));
	tree->engine->ever_on |= lwp->now[tree->fit.clock] != 0;
}

/* NULL: nobody knows. */
static cpc_buf_t *known(const struct tree *tree, cpc_buf_t *buf)
{
	return tree->invalid ? NULL : buf;
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
	cpc_buf_t *told = lwp->told;

	read_slot(tree, lwp);
	if (told == NULL)
		told = counts_new(tree);
	cpc_buf_sub(tree->engine->cpc, tree->diff, fill(tree, lwp->now), told);
	lwp->told = tree->buf;
	tree->buf = told;
	return lwp->flawed ? NULL : known(tree, tree->diff);
}

cpc_buf_t *counts_of_lwp(struct tree *tree, const struct lwp *base)
{
	const struct counted_lwp *lwp = (const struct counted_lwp *)base;

	return lwp->flawed ? NULL : known(tree, fill(tree, lwp->now));
}

cpc_buf_t *counts_of_proc(struct tree *tree, const struct proc *proc)
{
	return known(tree, ((const struct counted_proc *)proc)->total);
}
