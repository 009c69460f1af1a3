/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.c - turns what happens in a tree of processes into rows.
 */
#include "track.h"

#include "../common/util.h"
#include "../out/source.h"
#include "feed.h"
#include "setid.h"
#include "tally.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct track {
	struct track_config config;
	cpc_t *cpc;
	const struct setgrp *grp;
	const struct run *run;
	struct feed feed;	 /* of the output */
	struct sink *sink;	 /* of the output */
	struct command *command; /* NULL: attached */
	struct tally tally;
	int64_t start_ns;
	int64_t tick_ns, tick_wall_ns; /* time of the sample that is being taken; 0: none is */
	uint64_t tick;		       /* its number, or that of the last one */
	bool ending;		       /* the last rows have one time, too */
	bool comm;		       /* names of LWPs are wanted */
	uint64_t val[RUN_MAX_EVENTS];  /* of the row that is being told */
	volatile sig_atomic_t stopped;
	volatile sig_atomic_t suspend; /* stop once the command has stopped */
};

struct track *track_new(const struct track_config *config, cpc_t *cpc, const struct setgrp *grp,
			struct output *output, struct command *command)
{
	struct track *track = xcalloc(1, sizeof(*track));

	track->config = *config;
	track->config.fini_rows |= config->verbose;
	track->cpc = cpc;
	track->grp = grp;
	track->feed = feed_new(output);
	track->sink = output_sink(output);
	track->command = command;
	track->comm = output_wants_comm(output);
	tally_init(&track->tally, cpc, grp, config->debug);
	track->tally.start_off = config->start_off;
	track->tally.waiting = config->delay_ns > 0;
	track->start_ns = now_ns();
	return track;
}

void track_begin(struct track *track, const struct run *run)
{
	track->run = run;
	sink_begin(track->sink, run);
}

/* ---- rows --------------------------------------------------------------- */

static struct row new_row(struct track *track, pid_t pid, id_t id, pid_t tid, enum row_kind kind)
{
	if (!track->ending)
		track->tick_ns = 0;
	return (struct row){
		.kind = kind,
		.time_ns = (track->ending ? track->tick_ns : now_ns()) - track->start_ns,
		.wall_ns = track->ending ? track->tick_wall_ns : wall_ns(),
		.pid = pid,
		.lwp = (int)id,
		.tid = tid,
	};
}

static void look_at_comm(const struct track *track, struct lwp *lwp)
{
	if (track->comm)
		comm_read(lwp->tid, lwp->comm);
}

static const char *comm_of(const struct lwp *lwp)
{
	return lwp != NULL && lwp->comm[0] != '\0' ? lwp->comm : NULL;
}

static struct row lwp_row(struct track *track, const struct proc *proc, const struct lwp *lwp,
			  enum row_kind kind)
{
	struct row row = new_row(track, proc->pid, lwp->id, lwp->tid, kind);

	row.comm = comm_of(lwp);
	return row;
}

/* A sample of all LWPs begins. */
static void begin_tick(struct track *track)
{
	track->tick_ns = now_ns();
	track->tick_wall_ns = wall_ns();
	track->tick++;
}

/* All LWPs are in a sample once, and its rows have one time. */
static struct row tick_row(struct track *track, const struct proc *proc, struct lwp *lwp)
{
	bool begins = track->tick_ns == 0 || (!track->ending && lwp->tick == track->tick);
	bool ending = track->ending;
	struct row row;

	if (begins)
		begin_tick(track);
	lwp->tick = track->tick;
	look_at_comm(track, lwp);
	track->ending = true; /* keeps the time */
	row = lwp_row(track, proc, lwp, ROW_TICK);
	track->ending = ending;
	return row;
}

static void put_row(struct track *track, const struct row *row)
{
	sink_row(track->sink, row);
	track->feed.unflushed = true;
}

/* Begins or ends counting when that is due.  Returns when it is, in ms; 0: never. */
static uint_t keep_time(struct track *track, pctx_t *pctx)
{
	int64_t begin_ns = track->start_ns + track->config.delay_ns, now = now_ns();
	int64_t end_ns = begin_ns + track->config.for_ns;

	if (track->tally.waiting && now >= begin_ns)
		tally_begin(&track->tally);
	if (track->tally.waiting)
		return (uint_t)((begin_ns - now) / 1000000 + 1);
	if (track->config.for_ns == 0)
		return 0;
	if (now < end_ns)
		return (uint_t)((end_ns - now) / 1000000 + 1);
	track_stop(track, pctx);
	return 0;
}

/* While the command is tracked, its end is the end, whether or not somebody still reads. */
static uint_t on_idle(pctx_t *pctx, void *arg)
{
	struct track *track = arg;
	uint_t due = keep_time(track, pctx), wait;

	if (track->suspend && pctx_stopped(pctx)) {
		track->suspend = 0;
		feed_flush(&track->feed, pctx);
		raise(SIGSTOP); /* until the shell continues the job: us and the command */
		return due;
	}
	wait = feed_idle(&track->feed, pctx, track->command == NULL || track->command->left);
	return due == 0 || (wait != 0 && wait < due) ? wait : due;
}

/* A row with the counts of one set; `buf` NULL: they are not known. */
static void put_counts(struct track *track, struct row *row, size_t set, cpc_buf_t *buf)
{
	row->set = set;
	source_counts(track->cpc, track->run, row, buf, track->val);
	put_row(track, row);
}

static void put_tick(struct track *track, struct proc *proc, struct lwp *lwp)
{
	struct row row = tick_row(track, proc, lwp);

	put_counts(track, &row, lwp->turn, tally_tick(&track->tally, proc, lwp));
}

/* A row with what an LWP has counted so far. */
static void put_current(struct track *track, struct proc *proc, struct lwp *lwp, enum row_kind kind)
{
	struct row row = lwp_row(track, proc, lwp, kind);

	put_counts(track, &row, lwp->turn, tally_sample(&track->tally, proc, lwp));
}

/* A row with the totals of each set. */
static void put_lwp_totals(struct track *track, const struct proc *proc, const struct lwp *lwp,
			   enum row_kind kind)
{
	struct row row = lwp_row(track, proc, lwp, kind);

	for (size_t i = 0; i < track->grp->n; i++)
		put_counts(track, &row, i, tally_lwp_total(lwp, i));
}

/* `id` is LWP 1, or the LWP that called execve(2); `status` that of waitpid(2), or NULL. */
static void put_proc_totals(struct track *track, struct proc *proc, id_t id, enum row_kind kind,
			    const int *status)
{
	const struct lwp *lwp = pctx_lwp_data(proc->pctx, id);
	pid_t tid = lwp != NULL ? lwp->tid : proc->pid;
	struct row row = new_row(track, proc->pid, id, tid, kind);

	row.comm = comm_of(lwp);
	row.ended = status != NULL;
	row.status = status != NULL ? *status : 0;
	row.incomplete = proc->incomplete;
	for (size_t i = 0; i < track->grp->n; i++)
		put_counts(track, &row, i, proc->total[i]);
}

/* ---- handlers ----------------------------------------------------------- */

static struct proc *proc_of(struct track *track, pctx_t *pctx)
{
	struct proc *proc = pctx_data(pctx);

	return proc != NULL ? proc : tally_new_proc(&track->tally, pctx);
}

static int on_init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = proc_of(track, pctx);
	struct lwp *lwp = tally_new_lwp(&track->tally, proc, id);

	(void)pid;
	look_at_comm(track, lwp);
	tally_bind(&track->tally, proc, lwp, "init_lwp");
	if (track->config.verbose)
		put_current(track, proc, lwp, ROW_INIT_LWP);
	return 0;
}

static int on_lwp_create(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;

	(void)pid;
	put_current(track, pctx_data(pctx), pctx_lwp_data(pctx, id), ROW_LWP_CREATE);
	return 0;
}

static int on_fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = pctx_data(pctx);
	struct lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	tally_finish(&track->tally, proc, lwp);
	if (track->config.fini_rows)
		put_lwp_totals(track, proc, lwp, ROW_FINI_LWP);
	return 0;
}

static int on_lwp_exit(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = pctx_data(pctx);
	struct lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	put_lwp_totals(track, proc, lwp, ROW_LWP_EXIT);
	tally_free_lwp(&track->tally, lwp);
	return 0;
}

static int on_tick(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = pctx_data(pctx);
	struct lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	put_tick(track, proc, lwp);
	if (track->grp->n > 1)
		tally_rotate(&track->tally, proc, lwp);
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	struct track *track = arg;
	const pctx_t *maker = pctx_parent(pctx); /* NULL: it has ended already */
	pid_t tid = maker != NULL ? pctx_lwp_tid(maker, id) : pid;
	struct lwp *lwp = maker != NULL ? pctx_lwp_data(maker, id) : NULL;
	struct row row = new_row(track, pid, id, tid, ROW_FORK);

	if (lwp != NULL)
		look_at_comm(track, lwp);
	row.comm = comm_of(lwp);
	row.child = child;
	put_row(track, &row);
	pctx_run(pctx, track->config.interval_ms, track->config.count, on_tick);
}

/* The command is not tracked any more.  A signal may have asked to stop then. */
static void on_command_left(struct track *track, pctx_t *pctx)
{
	track->command->left = true;
	if (track->command->stop_at)
		track_stop(track, pctx);
}

static int on_exec(pctx_t *pctx, pid_t pid, id_t id, char *cmd, void *arg)
{
	struct track *track = arg;
	struct proc *proc = proc_of(track, pctx);
	char comm[COMM_SIZE] = "";
	struct row row;

	put_proc_totals(track, proc, id, ROW_EXEC, NULL);
	tally_clear_proc(&track->tally, proc);
	row = new_row(track, pid, 1, pid, ROW_IMAGE);
	if (track->comm)
		comm_read(pid, comm);
	row.comm = comm[0] != '\0' ? comm : NULL;
	row.command = cmd;
	put_row(track, &row);
	/* Also without -e: detached now, it still runs without them. */
	setid_tell(pid);
	if (track->config.follow_exec)
		return 0;
	tally_free_proc(&track->tally, proc);
	if (track->command != NULL && pid == track->command->pid)
		on_command_left(track, pctx);
	return 1;
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t id, int status, void *arg)
{
	struct track *track = arg;
	struct proc *proc = proc_of(track, pctx);

	put_proc_totals(track, proc, id, ROW_EXIT, &status);
	tally_free_proc(&track->tally, proc);
	if (track->command == NULL || pid != track->command->pid)
		return;
	track->command->reaped = true;
	/* The terminal was closed: nobody can type ^C to stop the tracking of a daemon. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP)
		track->command->stop_at = true;
	on_command_left(track, pctx);
}

static int on_mapped(pctx_t *pctx, pid_t pid, id_t id, int done, void *arg)
{
	struct track *track = arg;

	(void)pid;
	(void)id;
	tally_mapped(&track->tally, pctx_data(pctx), done != 0);
	return 0;
}

/* Its name as it ended, which nobody can read later. */
static void on_ending(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct lwp *lwp = pctx_lwp_data(pctx, id);

	(void)pid;
	if (lwp != NULL)
		look_at_comm(arg, lwp);
}

/* Out of memory, an LWP or a new process could not be followed. */
static void on_lost(pctx_t *pctx, pid_t pid, pid_t tid, void *arg)
{
	struct track *track = arg;
	/* Of a new process, pctx is its maker. */
	struct proc *proc = pctx_pid(pctx) == pid ? pctx_data(pctx) : NULL;

	(void)tid;
	track->tally.lost = true;
	if (proc != NULL)
		proc->incomplete = true;
}

/* ---- the run ------------------------------------------------------------ */

int track_watch(const struct track *track, pctx_t *pctx, bool follow_fork)
{
	return pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init_lwp, PCTX_FINI_LWP_EVENT,
			       on_fini_lwp, PCTX_SYSC_LWP_CREATE_EVENT, on_lwp_create,
			       PCTX_SYSC_LWP_EXIT_EVENT, on_lwp_exit, PCTX_SYSC_EXEC_EVENT, on_exec,
			       PCTX_SYSC_FORK_EVENT, follow_fork ? on_fork : NULL,
			       PCTX_SYSC_EXIT_EVENT, on_exit_proc, PCTX_IDLE_EVENT, on_idle,
			       PCTX_MAPPED_EVENT, on_mapped, PCTX_LOST_EVENT, on_lost,
			       PCTX_ENDING_EVENT, track->comm ? on_ending : NULL, PCTX_NULL_EVENT);
}

/* Rows of a process that is still there when tracking ends. */
static void put_last_rows_of(struct track *track, struct proc *proc)
{
	size_t n;
	struct lwp **lwp = tally_sort_lwps(proc, &n);

	for (size_t i = 0; i < n; i++) {
		if (track->stopped)
			put_tick(track, proc, lwp[i]);
		tally_finish(&track->tally, proc, lwp[i]);
		if (track->config.fini_rows)
			put_lwp_totals(track, proc, lwp[i], ROW_FINI_LWP);
	}
	free(lwp);
	if (proc->linking)
		symbols_unknown(track->tally.symbols);
	put_proc_totals(track, proc, 1, ROW_DETACH, NULL);
}

static void put_last_rows(struct track *track)
{
	size_t n;
	struct proc **proc = tally_sort_procs(&track->tally, &n);

	begin_tick(track);
	track->ending = true;
	for (size_t i = 0; i < n; i++) {
		put_last_rows_of(track, proc[i]);
		tally_free_proc(&track->tally, proc[i]);
	}
	free(proc);
}

int track_run(struct track *track, pctx_t *pctx)
{
	int rc;

	if (track->command != NULL)
		setid_tell(track->command->pid);
	rc = pctx_run(pctx, track->config.interval_ms, track->config.count, on_tick);

	put_last_rows(track);
	sink_end(track->sink);
	feed_flush(&track->feed, pctx);
	track->feed.has_reader = false; /* the table is complete; it may have gone by now */
	return rc;
}

void track_stop(struct track *track, pctx_t *pctx)
{
	track->stopped = 1;
	pctx_terminate(pctx);
}

void track_suspend(struct track *track, bool suspend)
{
	track->suspend = suspend;
}

bool track_lost(const struct track *track)
{
	return track->tally.lost;
}

bool track_never_on(const struct track *track)
{
	return track->config.start_off && !track->tally.ever_on;
}

int track_output_error(const struct track *track)
{
	return track->feed.error;
}

bool track_lacks_symbols(const struct track *track)
{
	bool all = track->config.follow_exec && track->config.follow_fork;

	return symbols_missing(track->tally.symbols,
			       all ? "" : " (-f tracks children, too, -e what they execute)");
}

void track_free(struct track *track)
{
	tally_free(&track->tally);
	free(track);
}
