/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ptrace.c - the engine that follows processes with libpctx, and counts each LWP with a set.
 */

#include "engine.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "../signals.h"
#include "binding.h"
#include "descendants.h"
#include "owners.h"
#include "pace.h"
#include "tally.h"

#include <errno.h>
#include <libpctx.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

struct tracer {
	struct engine engine;
	struct tally tally;
	pctx_t *pctx; /* NULL: nothing was started */
};

static struct tracer *tracer_of(const struct engine *engine)
{
	return engine->own;
}

/* ---- set-id programs ---------------------------------------------------------------------- */

/* With CAP_SYS_PTRACE in the tracer, the kernel keeps the privileges. */
static bool may_track_all(void)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &hdr, data) == 0 &&
	       (data[0].effective >> CAP_SYS_PTRACE & 1U) != 0;
}

/* The privileges that the program would give to our user; NULL: none. */
static const char *privileges_from(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return NULL;
	if ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid())
		return "set-id privileges";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid())
		return "set-id privileges";
	return getxattr(path, "security.capability", NULL, 0) > 0 ? "capabilities" : NULL;
}

/*
 * Reports a process that has just executed a program, but did not get the program's privileges,
 * because we trace it; see execve(2).
 */
static void report_setid(pid_t pid)
{
	char link[32], path[PATH_MAX];
	const char *lost;
	ssize_t n;

	if (may_track_all())
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	lost = privileges_from(link);
	if (lost == NULL)
		return;
	n = readlink(link, path, sizeof(path));
	say("process %d runs %.*s without its %s, because it is tracked", (int)pid,
	    n > 0 ? (int)n : 0, path, lost);
}

/* ---- from libpctx's handlers to events ---------------------------------------------------- */

static struct tally_proc *proc_of(struct tracer *tracer, pctx_t *pctx)
{
	struct tally_proc *proc = pctx_data(pctx);

	if (proc == NULL) {
		proc = tally_new_proc(&tracer->tally, pctx);
		binding_reset(&tracer->tally, proc);
	}
	return proc;
}

/* Looks up the cgroup and the user of a process, by one of its LWPs.  False: this LWP exits. */
static bool read_owners(const struct tracer *tracer, struct tally_proc *proc, pid_t tid)
{
	struct owners *owners = tracer->engine.config.owners;

	return owners == NULL || owners_of_lwp(owners, tid, &proc->owner, &proc->user);
}

/* An event of an LWP, which happens now. */
static struct track_event event_of(const struct tally_lwp *lwp, enum track_kind kind)
{
	return (struct track_event){
		.kind = kind,
		.time_ns = now_ns(),
		.lwp = lwp->lwp,
		.tgid = lwp->proc->pid,
		.tid = lwp->tid,
		.id = lwp->id,
		.set = lwp->turn,
		.owner = lwp->proc->owner,
		.user = lwp->proc->user,
		.flaws = tally_flaws(lwp),
	};
}

/* An event of a process, by one of its LWPs, which may be gone. */
static struct track_event proc_event(const pctx_t *pctx, pid_t pid, id_t id, enum track_kind kind)
{
	const struct tally_lwp *lwp = pctx != NULL ? pctx_lwp_data(pctx, id) : NULL;

	return (struct track_event){
		.kind = kind,
		.time_ns = now_ns(),
		.lwp = lwp != NULL ? lwp->lwp : NULL,
		.tgid = pid,
		.id = id,
	};
}

static int on_init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = proc_of(tracer, pctx);
	struct tally_lwp *lwp = tally_new_lwp(&tracer->tally, proc, id);
	struct track_event event;
	char comm[COMM_SIZE];

	(void)pid;
	binding_bind(&tracer->tally, lwp, "init_lwp");
	if (proc->proc == NULL)
		read_owners(tracer, proc, lwp->tid);
	event = event_of(lwp, TRACK_BIRTH);
	event.comm = engine_comm(&tracer->engine, lwp->tid, comm);
	event.counted = tally_is_counting(lwp);
	lwp->lwp = track_event(tracer->engine.track, &event);
	lwp->lwp->own = lwp;
	proc->proc = lwp->lwp->proc;
	proc->proc->own = proc;
	return 0;
}

static int on_lwp_create(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	const struct tally_lwp *lwp = pctx_lwp_data(pctx, id);
	struct track_event event = event_of(lwp, TRACK_CREATE);

	(void)pid;
	event.counted = tally_is_counting(lwp);
	track_event(tracer->engine.track, &event);
	return 0;
}

/* Reports the final counts of an LWP. */
static void finish(struct tracer *tracer, struct tally_lwp *lwp, enum track_kind kind,
		   const char *comm)
{
	const bool known = tally_finish(&tracer->tally, lwp);
	struct track_event event = event_of(lwp, kind); /* after its counters were read */

	event.comm = comm;
	if (known)
		event.counts = tracer->tally.counts;
	track_event(tracer->engine.track, &event);
}

static int on_fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	finish(arg, lwp, TRACK_FINAL, lwp->comm[0] != '\0' ? lwp->comm : NULL);
	return 0;
}

static int on_lwp_exit(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);
	const struct track_event event = event_of(lwp, TRACK_LWP_EXIT);

	(void)pid;
	track_event(tracer->engine.track, &event);
	tally_free_lwp(&tracer->tally, lwp);
	return 0;
}

static int on_tick(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);
	const bool known = tally_sample(&tracer->tally, lwp);
	struct track_event event = event_of(lwp, TRACK_TICK); /* after its counters were read */
	char comm[COMM_SIZE];

	(void)pid;
	/* One LWP suffices, but LWP 1 may have exited. */
	if (id == 1)
		lwp->proc->first_ended = !read_owners(tracer, lwp->proc, lwp->tid);
	else if (lwp->proc->first_ended)
		read_owners(tracer, lwp->proc, lwp->tid);
	event.owner = lwp->proc->owner;
	event.user = lwp->proc->user;
	event.comm = engine_comm(&tracer->engine, lwp->tid, comm);
	if (known)
		event.counts = tracer->tally.counts;
	track_event(tracer->engine.track, &event);
	if (tracer->engine.grp->n > 1)
		binding_rotate(&tracer->tally, lwp);
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	struct tracer *tracer = arg;
	const struct engine_config *config = &tracer->engine.config;
	/* pctx_parent() is NULL if the parent has ended already. */
	struct track_event event = proc_event(pctx_parent(pctx), pid, id, TRACK_FORK);
	char comm[COMM_SIZE];

	event.child = child;
	if (event.lwp != NULL)
		event.comm = engine_comm(&tracer->engine, event.lwp->tid, comm);
	track_event(tracer->engine.track, &event);
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
	struct track_event event = proc_event(pctx, pid, id, TRACK_EXEC);
	char comm[COMM_SIZE];

	read_owners(tracer, proc, pid);
	event.owner = proc->owner;
	event.user = proc->user;
	event.command = cmd;
	event.comm = engine_comm(&tracer->engine, pid, comm);
	event.left = !engine->config.follow_exec;
	tally_clear(&tracer->tally, proc);
	binding_reset(&tracer->tally, proc);
	/* Without follow_exec it is detached, but runs without its privileges all the same. */
	report_setid(pid);
	if (event.left)
		tally_free_proc(proc);
	track_event(engine->track, &event);
	return event.left;
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t id, int status, void *arg)
{
	struct tracer *tracer = arg;
	struct tally_proc *proc = proc_of(tracer, pctx);
	struct track_event event = proc_event(pctx, pid, id, TRACK_EXIT);

	event.owner = proc->owner;
	event.user = proc->user;
	event.status = status;
	tally_clear(&tracer->tally, proc);
	tally_free_proc(proc);
	track_event(tracer->engine.track, &event);
}

static uint_t on_idle(pctx_t *pctx, void *arg)
{
	struct tracer *tracer = arg;

	(void)pctx;
	return pace_idle(&tracer->engine);
}

static int on_mapped(pctx_t *pctx, pid_t pid, id_t id, int done, void *arg)
{
	struct tracer *tracer = arg;

	(void)pid;
	(void)id;
	binding_mapped(&tracer->tally, pctx_data(pctx), done != 0);
	return 0;
}

/* The LWP is ending: read its name and owners while /proc has them. */
static void on_ending(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	const struct tracer *tracer = arg;
	struct tally_lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	if (lwp == NULL)
		return;
	engine_comm(&tracer->engine, lwp->tid, lwp->comm);
	read_owners(tracer, lwp->proc, lwp->tid);
	lwp->proc->first_ended |= id == 1;
}

/* An LWP or a new process could not be followed.  Of a new process, pctx is the parent. */
static void on_lost(pctx_t *pctx, pid_t pid, pid_t tid, void *arg)
{
	struct tracer *tracer = arg;
	const struct track_event event = {
		.kind = TRACK_LOST,
		.time_ns = now_ns(),
		.tgid = pid,
		.tid = tid,
		.flaws = TRACK_PROC_FLAWED,
	};

	(void)pctx;
	tracer->engine.lost = true;
	track_event(tracer->engine.track, &event);
}

/* This cannot fail: all events are known. */
static void set_handlers(const struct tracer *tracer, pctx_t *pctx)
{
	const struct engine_config *config = &tracer->engine.config;

	pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init_lwp, PCTX_FINI_LWP_EVENT, on_fini_lwp,
			PCTX_SYSC_LWP_CREATE_EVENT, on_lwp_create, PCTX_SYSC_LWP_EXIT_EVENT,
			on_lwp_exit, PCTX_SYSC_EXEC_EVENT, on_exec, PCTX_SYSC_EXIT_EVENT,
			on_exit_proc, PCTX_IDLE_EVENT, on_idle, PCTX_MAPPED_EVENT, on_mapped,
			PCTX_LOST_EVENT, on_lost, PCTX_NULL_EVENT);
	if (config->follow_fork)
		pctx_set_events(pctx, PCTX_SYSC_FORK_EVENT, on_fork, PCTX_NULL_EVENT);
	else
		pctx_set_events(pctx, PCTX_CHILD_EVENT, on_child, PCTX_NULL_EVENT);
	if (config->comm || config->owners != NULL)
		pctx_set_events(pctx, PCTX_ENDING_EVENT, on_ending, PCTX_NULL_EVENT);
}

/* ---- start and end ------------------------------------------------------------------ */

/*
 * Refuses symbols that the process does not have.  A process that is being started may still get
 * them from its libraries or by an exec.
 */
static bool try_symbols(const struct tracer *tracer, pctx_t *pctx)
{
	const bool is_command = tracer->engine.config.pids == NULL;
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
	command->pid = pctx_pid(pctx);
	set_handlers(tracer, pctx);
	if (try_symbols(tracer, pctx)) {
		tracer->pctx = pctx;
		report_setid(command->pid);
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
	struct tracer *tracer;
	pctx_t *pctx;
	size_t n;	/* attached processes */
	bool no_symbol; /* a process lacks a symbol, so none is tracked */
};

/* An exited process is an error only if -p has its id. */
static enum found attach_to(struct attaching *attaching, pctx_t *added)
{
	if (added == NULL && errno == ESRCH)
		return FOUND_GONE;
	if (added == NULL) {
		attaching->tracer->engine.lost = true;
		return FOUND_REFUSED;
	}
	attaching->no_symbol = !try_symbols(attaching->tracer, added);
	if (attaching->no_symbol)
		return FOUND_STOP;
	attaching->n++;
	return signals_kept() ? FOUND_STOP : FOUND_ATTACHED;
}

static enum found attach_found(void *arg, pid_t pid)
{
	struct attaching *attaching = arg;

	return attach_to(attaching, pctx_add_found(attaching->pctx, pid));
}

/* Attaches to all processes of -p, and to their descendants if asked to. */
static void attach_all(struct attaching *attaching)
{
	struct engine *engine = &attaching->tracer->engine;
	const struct pids *pids = engine->config.pids;
	const struct target *target;
	enum found found;

	for (size_t i = 0; i < pids->n; i++) {
		target = &pids->target[i];
		found = target->by_name
				? attach_found(attaching, target->pid)
				: attach_to(attaching, pctx_add(attaching->pctx, target->pid));
		engine->lost |= found == FOUND_GONE && !target->by_name;
		if (found == FOUND_STOP)
			return;
	}
	if (engine->config.descendants && !descendants_attach(pids, attach_found, attaching))
		engine->lost = true;
}

static int attach(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);
	pctx_t *pctx = pctx_open(tracer, engine_errors(&tracer->engine.config));
	struct attaching attaching = {.tracer = tracer, .pctx = pctx};

	if (pctx == NULL)
		return -1;
	set_handlers(tracer, pctx);
	attach_all(&attaching);
	if (attaching.n > 0 && !attaching.no_symbol) {
		tracer->pctx = pctx;
		return 0;
	}
	if (attaching.n == 0 && !engine->lost && !attaching.no_symbol)
		say(ENGINE_ALL_ENDED);
	pctx_release(pctx);
	return -1;
}

/* Reports the last counts of all living LWPs. */
static void detach_all(struct tracer *tracer)
{
	const struct tree *tree = &tracer->engine.track->tree;
	char comm[COMM_SIZE];
	struct proc *proc;
	struct lwp *lwp;

	TAILQ_FOREACH(proc, &tree->procs, link) {
		/* The first one may be a zombie. */
		lwp = TAILQ_LAST(&proc->lwps, lwp_list);
		if (lwp != NULL)
			read_owners(tracer, proc->own, lwp->tid);
		TAILQ_FOREACH(lwp, &proc->lwps, link)
			finish(tracer, lwp->own, TRACK_DETACH,
			       engine_comm(&tracer->engine, lwp->tid, comm));
		tally_clear(&tracer->tally, proc->own);
		tally_free_proc(proc->own);
	}
}

static int run(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);
	int rc = pctx_run(tracer->pctx, engine->config.interval_ms, engine->config.count, on_tick);

	detach_all(tracer);
	return rc;
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

/* Reports the symbols that no program had. */
static void report_symbols(struct tracer *tracer)
{
	const struct engine_config *config = &tracer->engine.config;
	bool all = config->follow_exec && config->follow_fork;

	if (symbols_missing(tracer->tally.symbols,
			    all ? "" : " (-f tracks children, too, -e what they execute)"))
		tracer->engine.lost = true;
}

static void release(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);

	if (tracer->pctx == NULL)
		return;
	if (engine->config.pids == NULL)
		pctx_release(tracer->pctx);
	else
		pctx_abandon(tracer->pctx); /* do not wait for an LWP in a long system call */
	tracer->pctx = NULL;
	report_symbols(tracer);
}

static void free_tracer(struct engine *engine)
{
	struct tracer *tracer = tracer_of(engine);

	tally_free(&tracer->tally);
	free(tracer);
}

static void begin(struct engine *engine)
{
	binding_begin(&tracer_of(engine)->tally);
}

static const struct engine_ops ops = {
	.name = "ptrace",
	.start = start,
	.attach = attach,
	.run = run,
	.stop = stop,
	.stopped = stopped,
	.begin = begin,
	.wait = wait_for,
	.release = release,
	.free = free_tracer,
};

struct engine *engine_ptrace(const struct engine *common)
{
	struct tracer *tracer = xcalloc(1, sizeof(*tracer));

	tracer->engine = *common;
	tracer->engine.ops = &ops;
	tracer->engine.own = tracer;
	tally_init(&tracer->tally, &tracer->engine);
	return &tracer->engine;
}
