/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counts.c - what the LWPs of a tree have counted, from the slots that the kernel fills.
 */
#include "../../common/say.h"
#include "../../common/util.h"
#include "tree.h"

#include <cpc_counter.h>
#include <errno.h>
#include <string.h>

cpc_buf_t *tree_new_buf(const struct tree *tree)
{
	cpc_buf_t *buf = cpc_buf_create(tree->engine->cpc, tree->engine->grp->set[0].set);

	if (buf == NULL)
		die("%s", strerror(errno));
	return buf;
}

static void read_slot(struct tree *tree, struct counted_lwp *lwp)
{
	bool whole;

	if (lwp->final)
		return;
	lwps_read(tree->lwps, lwp->slot, lwp->now, &whole);
	lwp->proc->base.incomplete |= lwps_flaws(tree->lwps, lwp->slot) != 0;
	if (whole || lwp->flawed)
		return;
	lwp->flawed = true;
	tree->engine->lost = true;
	tree->nflawed++;
	tree->flaws |= lwps_flaws(tree->lwps, lwp->slot);
}

/* In the scratch buffer. */
static cpc_buf_t *fill(struct tree *tree, const uint64_t *value)
{
	cpc_buf_fill(tree->engine->cpc, tree->buf, tree->engine->grp->set[0].set, value,
		     tree->fit.ncounters, value[tree->fit.clock], tree->read_ns);
	return tree->buf;
}

void tree_finalize(struct tree *tree, struct counted_lwp *lwp)
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
cpc_buf_t *tree_sample(struct tree *tree)
{
	cpc_buf_zero(tree->engine->cpc, tree->buf);
	return known(tree, tree->buf);
}

cpc_buf_t *tree_sample_tick(struct tree *tree, struct lwp *base)
{
	struct counted_lwp *lwp = counted(base);
	cpc_t *cpc = tree->engine->cpc;

	read_slot(tree, lwp);
	fill(tree, lwp->now);
	if (lwp->told == NULL)
		lwp->told = tree_new_buf(tree);
	cpc_buf_sub(cpc, tree->diff, tree->buf, lwp->told);
	cpc_buf_copy(cpc, lwp->told, tree->buf);
	return lwp->flawed ? NULL : known(tree, tree->diff);
}

void tree_finish(struct tree *tree, struct lwp *lwp)
{
	tree_finalize(tree, counted(lwp));
}

cpc_buf_t *tree_lwp_total(struct tree *tree, const struct lwp *base)
{
	const struct counted_lwp *lwp = (const struct counted_lwp *)base;

	return lwp->flawed ? NULL : known(tree, fill(tree, lwp->now));
}

cpc_buf_t *tree_proc_total(struct tree *tree, const struct proc *proc)
{
	return known(tree, ((const struct counted_proc *)proc)->total);
}
