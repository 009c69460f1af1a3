/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* tracee.c - the tables: loops, processes, and LWPs by thread id and by LWP id. */
#include "tracee.h"

#include "../known/known.h"
#include "chld.h"
#include "procfs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* waitpid(2) does not distinguish tracees of two loops, so a thread has only one loop. */
static _Thread_local struct pctxi_loop *current;

static int cmp_tid(const struct pctxi_lwp *a, const struct pctxi_lwp *b)
{
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int cmp_id(const struct pctxi_lwp *a, const struct pctxi_lwp *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_GENERATE_INTERNAL(pctxi_tids, pctxi_lwp, by_tid, cmp_tid, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(pctxi_ids, pctxi_lwp, by_id, cmp_id, __attribute__((unused)) static)

/* malloc(3) has a cache per thread, which calloc(3) of most glibc versions does not use. */
static void *zalloc(size_t size)
{
	void *p = malloc(size);

	if (p != NULL)
		memset(p, 0, size);
	return p;
}

/* ---- loops ----------------------------------------------------------------- */

struct pctxi_loop *pctxi_loop_new(void)
{
	struct pctxi_loop *loop;

	/* A forked child inherits the pointer, but not the tracees. */
	if (current != NULL && current->owner == (pid_t)_lwp_self()) {
		errno = EBUSY;
		return NULL;
	}
	loop = zalloc(sizeof(*loop));
	if (loop == NULL)
		return NULL;
	loop->owner = (pid_t)_lwp_self();
	loop->own_proc = pctxi_own_proc();
	RB_INIT(&loop->tids);
	TAILQ_INIT(&loop->procs);
	LIST_INIT(&loop->detached);
	LIST_INIT(&loop->early);
	pctxi_chld_hold(loop);
	current = loop;
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
	pctxi_chld_release(loop);
	if (current == loop)
		current = NULL;
	free(loop->report);
	free(loop);
}

/* ---- processes --------------------------------------------------------------- */

/* The handles of all threads. */
static struct known known_procs;
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_known(void)
{
	pthread_mutex_lock(&known_mutex);
}

static void unlock_known(void)
{
	pthread_mutex_unlock(&known_mutex);
}

static void watch_forks(void)
{
	pthread_atfork(lock_known, unlock_known, unlock_known);
}

static bool add_known(const struct pctx *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool added;

	pthread_once(&once, watch_forks);
	lock_known();
	added = known_add(&known_procs, ctx);
	unlock_known();
	return added;
}

static void remove_known(const struct pctx *ctx)
{
	lock_known();
	known_remove(&known_procs, ctx);
	unlock_known();
}

bool pctxi_proc_is_known(const struct pctx *ctx)
{
	return known_has(&known_procs, ctx);
}

struct pctx *pctxi_proc_new(struct pctxi_loop *loop, pid_t pid, enum pctxi_origin origin,
			    const struct pctxi_handlers *handlers)
{
	struct pctx *ctx = zalloc(sizeof(*ctx));

	if (ctx == NULL || !add_known(ctx)) {
		free(ctx);
		return NULL;
	}
	ctx->loop = loop;
	ctx->pid = pid;
	ctx->origin = origin;
	ctx->state = PCTXI_PROC_HELD;
	ctx->handlers = *handlers;
	ctx->next_id = 1;
	RB_INIT(&ctx->lwps);
	TAILQ_INSERT_TAIL(&loop->procs, ctx, link);
	return ctx;
}

/* Is it in the loop's list of processes to be freed? */
static bool is_listed(const struct pctx *ctx)
{
	return ctx->state == PCTXI_PROC_DETACHED && pctxi_proc_is_own(ctx);
}

void pctxi_proc_free(struct pctx *ctx)
{
	struct pctxi_lwp *lwp;

	remove_known(ctx);
	while ((lwp = RB_ROOT(&ctx->lwps)) != NULL)
		pctxi_lwp_free(ctx->loop, lwp);
	if (is_listed(ctx))
		LIST_REMOVE(ctx, detached);
	TAILQ_REMOVE(&ctx->loop->procs, ctx, link);
	free(ctx);
}

struct pctx *pctxi_proc_find(struct pctxi_loop *loop, pid_t pid)
{
	struct pctxi_lwp *lwp = pctxi_lwp_find(loop, pid);
	struct pctx *ctx;

	if (lwp != NULL && lwp->ctx != NULL && lwp->ctx->pid == pid)
		return lwp->ctx;
	TAILQ_FOREACH(ctx, &loop->procs, link) {
		if (ctx->pid == pid && !RB_EMPTY(&ctx->lwps))
			return ctx;
	}
	return NULL;
}

bool pctxi_proc_is_detached(const struct pctx *ctx)
{
	return ctx->state >= PCTXI_PROC_DETACHED;
}

bool pctxi_proc_is_own(const struct pctx *ctx)
{
	return ctx->origin == PCTXI_ADDED || ctx->origin == PCTXI_FORKED;
}

void pctxi_proc_detached_if_empty(struct pctx *ctx)
{
	if (!RB_EMPTY(&ctx->lwps) || pctxi_proc_is_detached(ctx))
		return;
	ctx->state = PCTXI_PROC_DETACHED;
	if (is_listed(ctx))
		LIST_INSERT_HEAD(&ctx->loop->detached, ctx, detached);
}

void pctxi_proc_detach_again(struct pctx *ctx)
{
	if (is_listed(ctx))
		LIST_REMOVE(ctx, detached);
	ctx->state = PCTXI_PROC_DETACHING;
}

/* ---- LWPs -------------------------------------------------------------------- */

static bool is_early(const struct pctxi_lwp *lwp)
{
	return lwp->state == PCTXI_LWP_EARLY || lwp->state == PCTXI_LWP_GONE;
}

struct pctxi_lwp *pctxi_lwp_new(struct pctxi_loop *loop, pid_t tid, enum pctxi_lwp_state state)
{
	struct pctxi_lwp *lwp = zalloc(sizeof(*lwp));

	if (lwp == NULL)
		return NULL;
	lwp->tid = tid;
	lwp->state = state;
	RB_INSERT(pctxi_tids, &loop->tids, lwp);
	if (is_early(lwp))
		LIST_INSERT_HEAD(&loop->early, lwp, early);
	return lwp;
}

void pctxi_lwp_answerer(struct pctxi_lwp *lwp, struct pctxi_answerer answerer)
{
	const struct pctxi_answerer old = lwp->answerer;

	lwp->answerer = answerer;
	if (old.release != NULL)
		old.release(old.arg);
}

void pctxi_lwp_free(struct pctxi_loop *loop, struct pctxi_lwp *lwp)
{
	if (lwp->ctx != NULL) {
		RB_REMOVE(pctxi_ids, &lwp->ctx->lwps, lwp);
		if (lwp->ctx->recent == lwp)
			lwp->ctx->recent = NULL;
	} else if (is_early(lwp)) {
		LIST_REMOVE(lwp, early);
	}
	RB_REMOVE(pctxi_tids, &loop->tids, lwp);
	pctxi_lwp_answerer(lwp, (struct pctxi_answerer){0});
	free(lwp);
}

void pctxi_lwp_join(struct pctxi_lwp *lwp, struct pctx *ctx)
{
	if (lwp->ctx == NULL && is_early(lwp))
		LIST_REMOVE(lwp, early);
	lwp->ctx = ctx;
	lwp->id = ctx->next_id++;
	RB_INSERT(pctxi_ids, &ctx->lwps, lwp);
}

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
	pctxi_lwp_answerer(lwp, (struct pctxi_answerer){0});
	lwp->begun = false;
	lwp->maps_code = false;
	lwp->data = NULL;
	ctx->next_id = 1;
	pctxi_lwp_join(lwp, ctx);
}

void pctxi_lwp_rename(struct pctxi_loop *loop, struct pctxi_lwp *lwp, pid_t tid)
{
	RB_REMOVE(pctxi_tids, &loop->tids, lwp);
	lwp->tid = tid;
	RB_INSERT(pctxi_tids, &loop->tids, lwp);
}

struct pctxi_lwp *pctxi_lwp_find(struct pctxi_loop *loop, pid_t tid)
{
	struct pctxi_lwp key = {.tid = tid};

	return RB_FIND(pctxi_tids, &loop->tids, &key);
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

	if (ctx->recent != NULL && ctx->recent->id == id)
		return ctx->recent;
	/* RB_FIND() modifies nothing, but it takes no const. */
	return RB_FIND(pctxi_ids, (struct pctxi_ids *)(uintptr_t)&ctx->lwps, &key);
}
