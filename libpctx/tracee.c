/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracee.c - the tables: loops, processes, and LWPs by thread id and LWP id.
 */
#include "pctx_impl.h"

#include <stdlib.h>

static int cmp_tid(const struct pctxi_lwp *a, const struct pctxi_lwp *b)
{
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int cmp_id(const struct pctxi_lwp *a, const struct pctxi_lwp *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_GENERATE(pctxi_tids, pctxi_lwp, by_tid, cmp_tid)
RB_GENERATE(pctxi_ids, pctxi_lwp, by_id, cmp_id)

struct pctxi_loop *pctxi_loop_new(void)
{
	struct pctxi_loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->owner = (pid_t)_lwp_self();
	loop->own_proc = pctxi_own_proc();
	RB_INIT(&loop->tids);
	TAILQ_INIT(&loop->procs);
	LIST_INIT(&loop->left);
	LIST_INIT(&loop->early);

	/* Ignored or with SA_NOCLDSTOP set, SIGCHLD would never tell of a stop. */
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	sigaction(SIGCHLD, &dfl, &loop->old_chld);
	return loop;
}

void pctxi_loop_free(struct pctxi_loop *loop)
{
	struct pctxi_lwp *lwp;
	struct pctx *ctx;

	while ((ctx = TAILQ_FIRST(&loop->procs)) != NULL)
		pctxi_proc_free(ctx);
	while ((lwp = RB_ROOT(&loop->tids)) != NULL)
		pctxi_lwp_free(loop, lwp);
	sigaction(SIGCHLD, &loop->old_chld, NULL);
	free(loop->report);
	free(loop);
}

struct pctx *pctxi_proc_new(struct pctxi_loop *loop, pid_t pid)
{
	struct pctx *ctx = calloc(1, sizeof(*ctx));

	if (ctx == NULL)
		return NULL;
	ctx->loop = loop;
	ctx->pid = pid;
	ctx->state = PCTX_HELD;
	ctx->next_id = 1;
	RB_INIT(&ctx->lwps);
	TAILQ_INSERT_TAIL(&loop->procs, ctx, link);
	return ctx;
}

void pctxi_proc_free(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;

	while ((lwp = RB_ROOT(&ctx->lwps)) != NULL)
		pctxi_lwp_free(ctx->loop, lwp);
	if (ctx->forgettable)
		LIST_REMOVE(ctx, left);
	TAILQ_REMOVE(&ctx->loop->procs, ctx, link);
	free(ctx);
}

struct pctxi_lwp *pctxi_lwp_find(struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_lwp key = {.tid = tid};

	return RB_FIND(pctxi_tids, &loop->tids, &key);
}

/* An LWP of no process yet.  NULL: out of memory. */
struct pctxi_lwp *pctxi_lwp_new(struct pctxi_loop *loop, pid_t tid, enum pctxi_lwp_state state)
{
	struct pctxi_lwp *lwp = calloc(1, sizeof(*lwp));

	if (lwp == NULL)
		return NULL;
	lwp->tid = tid;
	lwp->state = state;
	RB_INSERT(pctxi_tids, &loop->tids, lwp);
	if (state == LWP_EARLY)
		LIST_INSERT_HEAD(&loop->early, lwp, early);
	return lwp;
}

/* Makes it the next LWP of a process. */
void pctxi_lwp_join(struct pctxi_lwp *lwp, struct pctx *ctx)
{
	if (lwp->state == LWP_EARLY || lwp->state == LWP_GONE)
		LIST_REMOVE(lwp, early);
	lwp->ctx = ctx;
	lwp->id = ctx->next_id++;
	RB_INSERT(pctxi_ids, &ctx->lwps, lwp);
}

void pctxi_lwp_free(struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	if (lwp->ctx != NULL)
		RB_REMOVE(pctxi_ids, &lwp->ctx->lwps, lwp);
	else if (lwp->state == LWP_EARLY || lwp->state == LWP_GONE)
		LIST_REMOVE(lwp, early);
	RB_REMOVE(pctxi_tids, &loop->tids, lwp);
	free(lwp);
}

/* After an exec: all other LWPs of its process go, and it becomes LWP 1. */
void pctxi_lwp_sole(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	struct pctxi_lwp *other, *next;

	for (other = pctxi_lwp_first(ctx); other != NULL; other = next) {
		next = pctxi_lwp_next(other);
		if (other != lwp)
			pctxi_lwp_free(ctx->loop, other);
	}
	RB_REMOVE(pctxi_ids, &ctx->lwps, lwp);
	ctx->next_id = 1;
	lwp->begun = false;
	lwp->maps = false;
	pctxi_lwp_join(lwp, ctx);
}

void pctxi_lwp_rename(struct pctxi_loop *loop, struct pctxi_lwp *lwp, pid_t tid)
{
	RB_REMOVE(pctxi_tids, &loop->tids, lwp);
	lwp->tid = tid;
	RB_INSERT(pctxi_tids, &loop->tids, lwp);
}

struct pctxi_lwp *pctxi_lwp_first(struct pctx *ctx)
{
	return RB_MIN(pctxi_ids, &ctx->lwps);
}

struct pctxi_lwp *pctxi_lwp_next(struct pctxi_lwp *lwp)
{
	return RB_NEXT(pctxi_ids, &lwp->ctx->lwps, lwp);
}

struct pctxi_lwp *pctxi_lwp_by_id(const struct pctx *ctx, id_t id)
{
	struct pctxi_lwp key = {.id = id};

	/* Looking does not change the tree; the macro just takes no const. */
	return RB_FIND(pctxi_ids, (struct pctxi_ids *)(uintptr_t)&ctx->lwps, &key);
}
