/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ptrace.c - the engine that follows processes with libpctx, and counts each LWP with a set.
 */
#include "ptrace.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "descendants.h"
#include "linking.h"
#include "setid.h"
#include "tally.h"

#include <errno.h>
#include <libpctx.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct tracer {
	struct engine engine;
	struct tally tally;
	pctx_t *pctx;	 /* NULL: nothing was started */
	bool is_command; /* it was started, not attached to */
};

static struct tracer *tracer_of(const struct engine *engine)
{
	return (struct tracer *)(uintptr_t)engine;
}

/* ---- what libpctx tells ------------------------------------------------------------ */

static struct tally_proc *proc_of(struct tracer *tracer, pctx_t *pctx)
{
	struct tally_proc *proc = pctx_data(pctx);

	return proc != NULL ? proc : tally_new_proc(&tracer->tally, pctx);
}

static struct lwp *lwp_of(const pctx_t *pctx, id_t id)
{
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	return lwp != NULL ? &lwp->base : NULL;
}

static void look_at_comm(const struct tracer *tracer, struct lwp *lwp)
{
	if (tracer->engine.config.comm)
		comm_read(lwp->tid, lwp->comm);
}

static int on_init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = proc_of(tracer, pctx);
	struct tally_lwp *lwp = tally_new_lwp(&tracer->tally, proc, id);

	(void)pid;
	look_at_comm(tracer, &lwp->base);
	tally_bind(&tracer->tally, proc, lwp, "init_lwp");
	tracer->engine.watcher->init_lwp(tracer->engine.arg, &proc->base, &lwp->base);
	return 0;
}

static int on_lwp_create(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = pctx_data(pctx);

	(void)pid;
	tracer->engine.watcher->lwp_create(tracer->engine.arg, &proc->base, lwp_of(pctx, id));
	return 0;
}

static int on_fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = pctx_data(pctx);
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	tally_finish(&tracer->tally, proc, lwp);
	tracer->engine.watcher->fini_lwp(tracer->engine.arg, &proc->base, &lwp->base);
	return 0;
}

static int on_lwp_exit(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = pctx_data(pctx);
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	tracer->engine.watcher->lwp_exit(tracer->engine.arg, &proc->base, &lwp->base);
	tally_free_lwp(&tracer->tally, proc, lwp);
	return 0;
}

static int on_tick(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = pctx_data(pctx);
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	tracer->engine.watcher->tick(tracer->engine.arg, &proc->base, &lwp->base);
	if (tracer->engine.grp->n > 1)
		tally_rotate(&tracer->tally, proc, lwp);
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	struct tracer *tracer = arg;
	const struct engine_config *config = &tracer->engine.config;
	const pctx_t *maker = pctx_parent(pctx); /* NULL: it has ended already */
	struct lwp *lwp = maker != NULL ? lwp_of(maker, id) : NULL;

	if (lwp != NULL)
		look_at_comm(tracer, lwp);
	tracer->engine.watcher->fork(tracer->engine.arg, pid, id, lwp, child);
	pctx_run(pctx, config->interval_ms, config->count, on_tick);
}

static void on_child(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	struct tracer *tracer = arg;

	(void)pctx, (void)pid, (void)id, (void)child;
	tracer->engine.nchildren++;
}

static int on_exec(pctx_t *pctx, pid_t pid, id_t id, char *cmd, void *arg)
{
	struct tracer *tracer = arg;
	struct engine *engine = &tracer->engine;
	struct tally_proc *proc = proc_of(tracer, pctx);
	char comm[COMM_SIZE] = "";

	engine->watcher->exec(engine->arg, &proc->base, id, lwp_of(pctx, id));
	tally_clear_proc(&tracer->tally, proc);
	if (engine->config.comm)
		comm_read(pid, comm);
	/* Without follow_exec it is detached, but runs without its privileges all the same. */
	setid_tell(pid);
	if (!engine->config.follow_exec)
		tally_free_proc(&tracer->tally, proc);
	engine->watcher->image(engine->arg, pid, comm, cmd);
	return !engine->config.follow_exec;
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t id, int status, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = proc_of(tracer, pctx);

	(void)pid;
	tracer->engine.watcher->exit(tracer->engine.arg, &proc->base, id, lwp_of(pctx, id), status);
	tally_free_proc(&tracer->tally, proc);
}

static uint_t on_idle(pctx_t *pctx, void *arg)
{
	struct tracer *tracer = arg;

	(void)pctx;
	return tracer->engine.watcher->idle(tracer->engine.arg);
}

static int on_mapped(pctx_t *pctx, pid_t pid, id_t id, int done, void *arg)
{
	struct tracer *tracer = arg;

	(void)pid;
	(void)id;
	linking_mapped(&tracer->tally, pctx_data(pctx), done != 0);
	return 0;
}

/* Its name as it ended, which nobody can read later. */
static void on_ending(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct lwp *lwp = lwp_of(pctx, id);

	(void)pid;
	if (lwp != NULL)
		look_at_comm(arg, lwp);
}

/* Out of memory, an LWP or a new process could not be followed. */
static void on_lost(pctx_t *pctx, pid_t pid, pid_t tid, void *arg)
{
	struct tracer *tracer = arg;
	/* Of a new process, pctx is its maker. */
	struct tally_proc *proc = pctx_pid(pctx) == pid ? pctx_data(pctx) : NULL;

	(void)tid;
	tracer->engine.lost = true;
	if (proc != NULL)
		proc->base.incomplete = true;
}

static int set_handlers(const struct tracer *tracer, pctx_t *pctx)
{
	const struct engine_config *config = &tracer->engine.config;

	return pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init_lwp, PCTX_FINI_LWP_EVENT,
			       on_fini_lwp, PCTX_SYSC_LWP_CREATE_EVENT, on_lwp_create,
			       PCTX_SYSC_LWP_EXIT_EVENT, on_lwp_exit, PCTX_SYSC_EXEC_EVENT, on_exec,
			       PCTX_SYSC_FORK_EVENT, config->follow_fork ? on_fork : NULL,
			       PCTX_CHILD_EVENT, config->follow_fork ? NULL : on_child,
			       PCTX_SYSC_EXIT_EVENT, on_exit_proc, PCTX_IDLE_EVENT, on_idle,
			       PCTX_MAPPED_EVENT, on_mapped, PCTX_LOST_EVENT, on_lost,
			       PCTX_ENDING_EVENT, config->comm ? on_ending : NULL, PCTX_NULL_EVENT);
}

/* ---- start and end ------------------------------------------------------------------ */

/*
 * Refuses symbols that the process does not have.  One that is being started may still get
 * them from its libraries, and so may what it executes.
 */
static bool try_symbols(const struct tracer *tracer, pctx_t *pctx, bool is_command)
{
	const struct setgrp *grp = tracer->engine.grp;
	cpc_t *cpc = tracer->engine.cpc;

	for (size_t i = 0; i < grp->n; i++) {
		cpc_set_t *set = grp->set[i].set;
		int rc;

		if (!grp->set[i].symbols)
			continue;
		rc = cpc_bind_pctx(cpc, pctx, 1, set, is_command ? CPC_BIND_LATE : 0);
		if (rc == 0 && is_command)
			rc = cpc_set_resolve(cpc, set);
		if (rc == -1 && errno != ESRCH) {
			say("%s", cpcerr_text());
			return false;
		}
		cpc_unbind(cpc, set);
	}
	return true;
}

static int start(struct engine *engine, char **argv, struct command *command)
{
	struct tracer *tracer = tracer_of(engine);
	pctx_t *pctx = pctx_create(argv[0], argv, tracer, 0, engine_errors(&tracer->engine.config));
	int wstatus;

	if (pctx == NULL)
		return -1;
	command_started(command, pctx_pid(pctx));
	set_handlers(tracer, pctx); /* cannot fail: all events are known */
	if (try_symbols(tracer, pctx, true)) {
		tracer->pctx = pctx;
		tracer->is_command = true;
		setid_tell(command->pid);
		return 0;
	}
	kill(command->pid, SIGKILL); /* it has not run yet */
	pctx_wait(pctx, &wstatus);
	pctx_release(pctx);
	errno = 0;
	return -1;
}

/* Processes that are being attached to. */
struct attaching {
	const struct tracer *tracer;
	pctx_t *pctx;
	size_t n;	  /* attached to */
	bool some_failed; /* others could not be */
	bool no_symbol;	  /* of one that is attached to: none is tracked */
};

/* A process that was asked for is worth an error if it has ended, one of its descendants is not. */
static enum found attach_to(struct attaching *attaching, pctx_t *added)
{
	const struct engine_config *config = &attaching->tracer->engine.config;

	if (added == NULL && errno == ESRCH)
		return FOUND_GONE;
	if (added == NULL) {
		attaching->some_failed = true;
		return FOUND_REFUSED;
	}
	attaching->no_symbol = !try_symbols(attaching->tracer, added, false);
	if (attaching->no_symbol)
		return FOUND_STOP;
	attaching->n++;
	return config->must_stop != NULL && config->must_stop() ? FOUND_STOP : FOUND_ATTACHED;
}

static enum found attach_found(void *arg, pid_t pid)
{
	struct attaching *attaching = arg;

	return attach_to(attaching, pctx_add_found(attaching->pctx, pid));
}

/* Attaches to all processes that allow it. */
static void attach_all(struct attaching *attaching, const struct pids *pids)
{
	enum found found;

	for (size_t i = 0; i < pids->n; i++) {
		found = attach_to(attaching, pctx_add(attaching->pctx, pids->id[i]));
		attaching->some_failed |= found == FOUND_GONE;
		if (found == FOUND_STOP)
			return;
	}
	if (attaching->tracer->engine.config.descendants &&
	    !descendants_attach(pids, attach_found, attaching))
		attaching->some_failed = true;
}

static int attach(struct engine *engine, const struct pids *pids, bool *some_failed)
{
	struct tracer *tracer = tracer_of(engine);
	pctx_t *pctx = pctx_open(tracer, engine_errors(&tracer->engine.config));
	struct attaching attaching = {.tracer = tracer, .pctx = pctx};

	if (pctx != NULL && set_handlers(tracer, pctx) == 0) {
		attach_all(&attaching, pids);
		*some_failed |= attaching.some_failed;
		if (attaching.n > 0 && !attaching.no_symbol) {
			tracer->pctx = pctx;
			return 0;
		}
	}
	if (pctx != NULL)
		pctx_release(pctx);
	return -1;
}

static int run(struct engine *engine)
{
	return pctx_run(tracer_of(engine)->pctx, engine->config.interval_ms, engine->config.count,
			on_tick);
}

static void stop(struct engine *engine)
{
	pctx_terminate(tracer_of(engine)->pctx);
}

static bool stopped(const struct engine *engine)
{
	return pctx_stopped(tracer_of(engine)->pctx) != 0;
}

static int wait_for(struct engine *engine, int *wstatus)
{
	return pctx_wait(tracer_of(engine)->pctx, wstatus);
}

static void release(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);

	if (tracer->pctx == NULL)
		return;
	if (tracer->is_command)
		pctx_release(tracer->pctx);
	else
		pctx_abandon(tracer->pctx); /* an LWP in a long system call is not waited for */
	tracer->pctx = NULL;
}

static void free_tracer(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);

	tally_free(&tracer->tally);
	free(tracer);
}

/* ---- counts ---------------------------------------------------------------------------- */

static void begin(struct engine *engine)
{
	tally_begin(&tracer_of(engine)->tally);
}

static cpc_buf_t *sample(struct engine *engine, struct proc *proc, struct lwp *lwp)
{
	return tally_sample(&tracer_of(engine)->tally, tally_proc(proc), tally_lwp(lwp));
}

static cpc_buf_t *sample_tick(struct engine *engine, struct proc *proc, struct lwp *lwp)
{
	look_at_comm(tracer_of(engine), lwp);
	return tally_tick(&tracer_of(engine)->tally, tally_proc(proc), tally_lwp(lwp));
}

static void finish(struct engine *engine, struct proc *proc, struct lwp *lwp)
{
	look_at_comm(tracer_of(engine), lwp);
	tally_finish(&tracer_of(engine)->tally, tally_proc(proc), tally_lwp(lwp));
}

static cpc_buf_t *lwp_total(const struct engine *engine, const struct lwp *lwp, size_t set)
{
	(void)engine;
	return tally_lwp_total((const struct tally_lwp *)lwp, set);
}

static cpc_buf_t *proc_total(const struct engine *engine, const struct proc *proc, size_t set)
{
	(void)engine;
	return ((const struct tally_proc *)proc)->total[set];
}

static void leave(struct engine *engine, struct proc *proc)
{
	tally_free_proc(&tracer_of(engine)->tally, tally_proc(proc));
}

static bool lacks_symbols(const struct engine *engine)
{
	bool all = engine->config.follow_exec && engine->config.follow_fork;

	return symbols_missing(tracer_of(engine)->tally.symbols,
			       all ? "" : " (-f tracks children, too, -e what they execute)");
}

static const struct engine_ops ops = {
	.name = "ptrace",
	.start = start,
	.attach = attach,
	.run = run,
	.stop = stop,
	.stopped = stopped,
	.wait = wait_for,
	.begin = begin,
	.sample = sample,
	.sample_tick = sample_tick,
	.finish = finish,
	.lwp_total = lwp_total,
	.proc_total = proc_total,
	.leave = leave,
	.lacks_symbols = lacks_symbols,
	.release = release,
	.free = free_tracer,
};

struct engine *engine_ptrace(const struct engine_config *config, cpc_t *cpc,
			     const struct setgrp *grp)
{
	struct tracer *tracer = xcalloc(1, sizeof(*tracer));

	tracer->engine = (struct engine){.ops = &ops, .config = *config, .cpc = cpc, .grp = grp};
	TAILQ_INIT(&tracer->engine.procs);
	tally_init(&tracer->tally, &tracer->engine);
	return &tracer->engine;
}
