/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.c - turns what happens in a tree of processes into rows.
 */
#include "track.h"

#include "../../base/util.h"
#include "../../rows/source.h"
#include "feed.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

struct track {
	struct track_config config;
	struct engine *engine;
	struct run *run;
	bool cuts;		 /* a signal cuts the run */
	struct feed feed;	 /* of the output */
	struct sink *sink;	 /* of the output */
	struct command *command; /* NULL: attached */
	int64_t start_ns;
	int64_t last_ns;	       /* the time of the last row: times never go back */
	int64_t tick_ns, tick_wall_ns; /* time of the sample that is being taken; 0: none is */
	uint64_t tick;		       /* its number, or that of the last one */
	struct row tick_row;	       /* what all rows of it have */
	bool ending;		       /* the last rows have the time of a sample, too */
	uint64_t val[RUN_MAX_EVENTS];  /* of the row that is being told */
	struct uncounted uncounted;
	uint64_t *cycles; /* per set: those of totals of processes */
	volatile sig_atomic_t stopped;
	volatile sig_atomic_t suspend; /* stop once the command has stopped */
};

/* What an engine tells. */
static const struct watcher watcher;

struct track *track_new(const struct track_config *config, struct engine *engine,
			struct output *output, struct command *command)
{
	struct track *track = xcalloc(1, sizeof(*track));

	track->config = *config;
	track->config.fini_rows |= config->verbose;
	track->engine = engine;
	track->feed = feed_new(output);
	track->sink = output_sink(output);
	track->command = command;
	track->cycles = xcalloc(engine->grp->n, sizeof(*track->cycles));
	track->start_ns = now_ns();
	engine_watch(engine, &watcher, track);
	return track;
}

void track_begin(struct track *track, struct run *run, bool cuts)
{
	track->run = run;
	track->cuts = cuts;
	sink_begin(track->sink, run);
}

/* ---- rows --------------------------------------------------------------- */

/* When that happened which is told. */
static int64_t event_ns(const struct track *track)
{
	int64_t ns = track->engine->event_ns;

	if (ns == 0)
		return now_ns();
	/* What several CPUs tell, and what was told before a sample and comes after it. */
	return ns > track->last_ns ? ns : track->last_ns;
}

static struct row new_row(struct track *track, pid_t pid, id_t id, pid_t tid, enum row_kind kind)
{
	bool sampled = kind == ROW_TICK || track->ending;
	int64_t time_ns = sampled ? track->tick_ns : event_ns(track);

	track->last_ns = time_ns;
	if (!sampled)
		track->tick_ns = 0;
	return (struct row){
		.kind = kind,
		.time_ns = time_ns - track->start_ns,
		.wall_ns = sampled ? track->tick_wall_ns : wall_ns() - (now_ns() - time_ns),
		.pid = pid,
		.lwp = (int)id,
		.tid = tid,
	};
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
	track->tick_row = new_row(track, 0, 0, 0, ROW_TICK);
}

/* All LWPs are in a sample once, and its rows have one time. */
static struct row *tick_row(struct track *track, const struct proc *proc, struct lwp *lwp)
{
	if (track->tick_ns == 0 || (!track->ending && lwp->tick == track->tick))
		begin_tick(track);
	lwp->tick = track->tick;
	track->tick_row.pid = proc->pid;
	track->tick_row.lwp = (int)lwp->id;
	track->tick_row.tid = lwp->tid;
	return &track->tick_row;
}

static void put_row(struct track *track, const struct row *row)
{
	sink_row(track->sink, row);
	track->feed.unflushed = true;
}

/* When counting begins, and when it ends if that was asked for. */
static int64_t begin_ns_of(const struct track *track)
{
	return track->start_ns + track->config.delay_ns;
}

static int64_t end_ns_of(const struct track *track)
{
	return track->config.for_ns != 0 ? begin_ns_of(track) + track->config.for_ns : INT64_MAX;
}

/* Begins or ends counting when that is due.  Returns when it is, in ms; 0: never. */
static uint_t keep_time(struct track *track)
{
	int64_t begin_ns = begin_ns_of(track), end_ns = end_ns_of(track), now = now_ns();
	struct engine *engine = track->engine;

	if (engine->config.waiting && now >= begin_ns)
		engine->ops->begin(engine);
	if (engine->config.waiting)
		return (uint_t)((begin_ns - now) / 1000000 + 1);
	if (track->config.for_ns == 0)
		return 0;
	if (now < end_ns)
		return (uint_t)((end_ns - now) / 1000000 + 1);
	track_stop(track);
	return 0;
}

/* Once nobody reads the rows, tracking ends. */
static void flush(struct track *track)
{
	if (!feed_flush(&track->feed))
		track->engine->ops->stop(track->engine);
}

/* While the command is tracked, its end is the end, whether or not somebody still reads. */
static uint_t on_idle(void *arg)
{
	struct track *track = arg;
	struct engine *engine = track->engine;
	uint_t due = keep_time(track), wait = 0;

	if (track->suspend && engine->ops->stopped(engine)) {
		track->suspend = 0;
		flush(track);
		raise(SIGSTOP); /* until the shell continues the job: us and the command */
		return due;
	}
	if (!feed_idle(&track->feed, track->command == NULL || track->command->left, &wait))
		engine->ops->stop(engine);
	return due == 0 || (wait != 0 && wait < due) ? wait : due;
}

/* A row with the counts of one set; `buf` NULL: they are not known. */
static void put_counts(struct track *track, struct row *row, size_t set, cpc_buf_t *buf)
{
	row->set = set;
	source_counts(track->engine->cpc, track->run, row, buf, track->val);
	put_row(track, row);
}

/* The time since `from_ns`, or 0: it was born after the sample began. */
static int64_t life(const struct track *track, const struct row *row, int64_t from_ns)
{
	int64_t now = track->start_ns + row->time_ns;

	return now > from_ns ? now - from_ns : 0;
}

static void put_tick(struct track *track, struct proc *proc, struct lwp *lwp)
{
	struct row *row = tick_row(track, proc, lwp);
	cpc_buf_t *buf = track->engine->ops->sample_tick(track->engine, proc, lwp);

	row->comm = comm_of(lwp); /* as it is now */
	row->span_ns = life(track, row, lwp->since_ns);
	lwp->since_ns = track->start_ns + row->time_ns;
	put_counts(track, row, lwp->turn, buf);
	track->feed.sample = true;
}

/* A row with what an LWP has counted so far. */
static void put_current(struct track *track, struct proc *proc, struct lwp *lwp, enum row_kind kind)
{
	struct row row = lwp_row(track, proc, lwp, kind);

	put_counts(track, &row, lwp->turn, track->engine->ops->sample(track->engine, proc, lwp));
}

/* A row with the totals of each set. */
static void put_lwp_totals(struct track *track, const struct proc *proc, const struct lwp *lwp,
			   enum row_kind kind)
{
	const struct engine *engine = track->engine;
	struct row row = lwp_row(track, proc, lwp, kind);

	row.span_ns = engine->grp->n == 1 ? life(track, &row, lwp->born_ns) : 0;
	for (size_t i = 0; i < engine->grp->n; i++)
		put_counts(track, &row, i, engine->ops->lwp_total(engine, lwp, i));
}

/* `id` is LWP 1, or the LWP that called execve(2); `status` that of waitpid(2), or NULL. */
static void put_proc_totals(struct track *track, struct proc *proc, id_t id, const struct lwp *lwp,
			    enum row_kind kind, const int *status)
{
	const struct engine *engine = track->engine;
	pid_t tid = lwp != NULL ? lwp->tid : proc->pid;
	struct row row = new_row(track, proc->pid, id, tid, kind);

	row.comm = comm_of(lwp);
	row.ended = status != NULL;
	row.status = status != NULL ? *status : 0;
	row.incomplete = proc->incomplete;
	row.span_ns = engine->grp->n == 1 ? life(track, &row, proc->born_ns) : 0;
	for (size_t i = 0; i < engine->grp->n; i++) {
		put_counts(track, &row, i, engine->ops->proc_total(engine, proc, i));
		track->cycles[i] += row.cycles;
	}
}

/* ---- what the engine tells ------------------------------------------------ */

static void on_init_lwp(void *arg, struct proc *proc, struct lwp *lwp)
{
	struct track *track = arg;
	int64_t now = event_ns(track), begin = begin_ns_of(track);

	lwp->born_ns = lwp->since_ns = now > begin ? now : begin;
	if (proc->born_ns == 0 || lwp->id == 1) /* also of its next program */
		proc->born_ns = lwp->born_ns;
	if (track->config.verbose)
		put_current(track, proc, lwp, ROW_INIT_LWP);
}

static void on_lwp_create(void *arg, struct proc *proc, struct lwp *lwp)
{
	put_current(arg, proc, lwp, ROW_LWP_CREATE);
}

static void on_fini_lwp(void *arg, struct proc *proc, struct lwp *lwp)
{
	struct track *track = arg;

	if (track->config.fini_rows)
		put_lwp_totals(track, proc, lwp, ROW_FINI_LWP);
}

static void on_lwp_exit(void *arg, struct proc *proc, struct lwp *lwp)
{
	put_lwp_totals(arg, proc, lwp, ROW_LWP_EXIT);
}

#define LAST_NS 1000000

static void on_tick(void *arg, struct proc *proc, struct lwp *lwp)
{
	const struct track *track = arg;

	/* The end takes a sample, too: one just before it would make it one of no time. */
	if (track->config.for_ns == 0 || now_ns() < end_ns_of(track) - LAST_NS)
		put_tick(arg, proc, lwp);
}

static void on_fork(void *arg, pid_t pid, id_t id, struct lwp *lwp, pid_t child)
{
	struct track *track = arg;
	struct row row = new_row(track, pid, id, lwp != NULL ? lwp->tid : pid, ROW_FORK);

	row.comm = comm_of(lwp);
	row.child = child;
	put_row(track, &row);
}

/* The command is not tracked any more.  A signal may have asked to stop then. */
static void on_command_left(struct track *track)
{
	track->command->left = true;
	if (track->command->stop_at)
		track_stop(track);
}

static void on_exec(void *arg, struct proc *proc, id_t id, struct lwp *lwp)
{
	put_proc_totals(arg, proc, id, lwp, ROW_EXEC, NULL);
}

static void on_image(void *arg, pid_t pid, const char *comm, const char *command)
{
	struct track *track = arg;
	struct row row = new_row(track, pid, 1, pid, ROW_IMAGE);

	row.comm = comm[0] != '\0' ? comm : NULL;
	row.command = command;
	put_row(track, &row);
	if (track->engine->config.follow_exec)
		return;
	uncounted_add(&track->uncounted, pid, command);
	if (track->command != NULL && pid == track->command->pid)
		on_command_left(track);
}

static void on_exit_proc(void *arg, struct proc *proc, id_t id, struct lwp *lwp, int status)
{
	struct track *track = arg;

	put_proc_totals(track, proc, id, lwp, ROW_EXIT, &status);
	if (track->command == NULL || proc->pid != track->command->pid)
		return;
	track->command->reaped = true;
	/* The terminal was closed: nobody can type ^C to stop the tracking of a daemon. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP)
		track->command->stop_at = true;
	on_command_left(track);
}

static const struct watcher watcher = {
	.init_lwp = on_init_lwp,
	.lwp_create = on_lwp_create,
	.tick = on_tick,
	.fini_lwp = on_fini_lwp,
	.lwp_exit = on_lwp_exit,
	.fork = on_fork,
	.exec = on_exec,
	.image = on_image,
	.exit = on_exit_proc,
	.idle = on_idle,
};

/* ---- the run ------------------------------------------------------------ */

/* Rows of a process that is still there when tracking ends. */
static void put_last_rows_of(struct track *track, struct proc *proc)
{
	struct engine *engine = track->engine;
	struct lwp *lwp, *first = NULL;

	TAILQ_FOREACH(lwp, &proc->lwps, link) {
		if (track->stopped)
			put_tick(track, proc, lwp);
		engine->ops->finish(engine, proc, lwp);
		if (track->config.fini_rows)
			put_lwp_totals(track, proc, lwp, ROW_FINI_LWP);
		if (lwp->id == 1)
			first = lwp;
	}
	put_proc_totals(track, proc, 1, first, ROW_DETACH, NULL);
}

static void put_last_rows(struct track *track)
{
	struct engine *engine = track->engine;
	size_t n;
	struct proc **proc = engine_sort_procs(engine, &n);

	begin_tick(track);
	track->ending = true;
	for (size_t i = 0; i < n; i++) {
		put_last_rows_of(track, proc[i]);
		engine->ops->leave(engine, proc[i]);
	}
	free(proc);
}

int track_run(struct track *track)
{
	int rc = track->engine->ops->run(track->engine);

	put_last_rows(track);
	track->feed.sample = false; /* the end tells all */
	track->run->lacks = track->engine->lost;
	track->run->cut = track->cuts && track->command->cut;
	sink_end(track->sink);
	feed_flush(&track->feed);
	track->feed.has_reader = false; /* the table is complete; it may have gone by now */
	return rc;
}

void track_stop(struct track *track)
{
	track->stopped = 1;
	track->engine->ops->stop(track->engine);
}

void track_suspend(struct track *track, bool suspend)
{
	track->suspend = suspend;
}

int track_output_error(const struct track *track)
{
	return track->feed.error;
}

const struct uncounted *track_uncounted(const struct track *track)
{
	return &track->uncounted;
}

uint64_t track_cycles(const struct track *track, size_t set)
{
	return track->cycles[set];
}

void track_free(struct track *track)
{
	free(track->cycles);
	free(track);
}
